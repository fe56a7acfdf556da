// Package shape composes objects with CUE, and caches the results, because CUE takes about 4 ms for each runtime.
//
// A shape is an object without its parameters. Parameters are the scalars that CUE marks with @param(KEY) or
// @fill(KEY). A mark (@param or @fill) states that a parameter equals a field of the builder's input. The mark of a
// parameter also states that nothing else in the object depends on the field. Inputs that differ only in parameters
// therefore have the same shape. If two inputs have the same shape, the object of the second input is a copy of the
// object of the first input. In the copy, the parameters have the values from the second input.
//
// A component is a part of an object, such as a container. CUE builds each component separately. Go then inserts the
// component into a slot of the object. The field mask of a component lists the fields of the input that the component
// reads. Two inputs share the component if they differ only in fields that the field mask does not list.
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
// The key of a cache entry is the input as JSON, without the fields that affect only parameters. The key omits each
// field from which a parameter of the object gets its value. A parameter is a copy of an omitted field, or is
// computed from an omitted field (INPUT in @fill(KEY,of=INPUT)). Two objects in one cache can have different
// parameters. If two objects in one cache have different parameters, the keys of the two cache entries omit different
// fields of the input. Therefore a cache has one group of entries for each set of parameters. A lookup tries all
// groups, because the parameters of an object are known only after CUE has built the object.
//
// A cache of shapes serves one builder and one cache group, such as the runtimes of one catalogue entry. Only objects
// of the same cache group can have the same shape. One cache of components serves all builders and groups. Nothing is
// cached between runs.
//
// Two checks verify that the marks of parameters are correct. When a shape is built, every parameter is compared with
// its source. The differential tests compare objects from the caches with objects that CUE builds without caches.
package shape
