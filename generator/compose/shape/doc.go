// Package shape composes objects with CUE, and caches the results, because CUE takes about 4 ms for each runtime.
//
// A shape is an object without its parameters. Parameters are the scalars that CUE marks with @param(KEY) or
// @fill(KEY). Such a mark states that the parameter equals a field of the builder's input, and that nothing else in
// the object depends on this field. Inputs that differ only in parameters therefore have the same shape. CUE builds
// an object only for the first of these inputs. The objects of the other inputs are copies with other values of the
// parameters.
//
// A component is a part of an object, such as a container. CUE builds each component separately. Go then inserts the
// component into a slot of the object. The field mask of a component lists the fields of the input that the component
// reads. The cache of components ignores all other fields. It also ignores fields that affect only parameters. Two
// inputs share the component if they are equal in the remaining fields.
//
//	request ──► shape cache ──hit──► values of the parameters ──► object
//	                │ miss
//	                ▼
//	        build with CUE ──► object with slots
//	                              │ each slot
//	                              ▼
//	                   input through the field mask ──► component cache ──hit──┐
//	                                                        │ miss             │
//	                                                        ▼                  ▼
//	                                                  build with CUE ──► component in its slot
//
// The key of a cache entry is the input as JSON, without the fields that affect only parameters. The key omits the
// fields that a parameter copies, and the fields from which a parameter is computed (INPUT in @fill(KEY,of=INPUT)).
// Objects in one cache can have different sets of parameters, so their keys omit different fields. A cache therefore
// has one group of entries for each set of parameters. A lookup tries all groups, because the parameters of an object
// are known only after CUE has built the object.
//
// A cache of shapes serves one builder and one cache group, such as the runtimes of one catalogue entry. Only objects
// of the same cache group can have the same shape. One cache of components serves all builders and groups. Nothing is
// cached between runs.
//
// Two checks verify that the marks of parameters are correct. After CUE has built an object or a component, each
// parameter is compared with the input field that it repeats. The differential tests compare objects from the
// caches with objects that CUE builds without caches.
package shape
