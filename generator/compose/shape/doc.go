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
// reads. The cache of components ignores two kinds of fields: fields that are not in the field mask, and fields that
// affect only parameters. If two inputs are equal in all other fields, both inputs get the same cached component.
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
// The key of a cache entry is the input as JSON, without the fields that affect only parameters. The key omits two
// kinds of input fields. A field of the first kind contains the value of a parameter. In the mark @fill(KEY), KEY is
// the path of such a field. A field of the second kind is used only to compute the values of parameters. In the mark
// @fill(KEY,of=INPUT), INPUT is the path of such a field. The cache key of an object omits the input fields from which
// the object's parameters get their values. In one cache, these input fields can differ from object to object.
// Therefore each cache divides its entries into groups. In a group, all keys omit the same fields. The group of an
// object depends on the parameters of the object. These parameters are known only after CUE has built the object. A
// lookup in the cache takes place before CUE builds the object. At that time, the group of the object is unknown, so
// the lookup tries all groups.
//
// A cache of shapes serves one builder and one cache group, such as the runtimes of one catalogue entry. Only objects
// of the same cache group can have the same shape. One cache of components serves all builders and groups. Nothing is
// cached between runs.
//
// Two checks verify that the marks of parameters are correct. The first check runs after CUE has built an object or a
// component. The mark of a parameter, such as @fill(KEY), names an input field. The first check fails if the parameter
// and this input field have different values. In the second check, the differential tests compare objects from the
// caches with objects that CUE builds without caches.
package shape
