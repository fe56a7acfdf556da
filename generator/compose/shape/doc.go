// Package shape composes objects with CUE, and caches the results, because CUE takes about 4 ms for each runtime.
//
// A shape is an object without its parameters. Parameters are the scalars that CUE marks with @param(KEY) or
// @fill(KEY). A mark promises that the scalar equals a field of the builder's input, and that nothing else in the
// object depends on that field. Inputs that differ only in parameters therefore have the same shape, and a second
// object is a copy of the first one with other parameter values.
//
// A component is a part of an object, such as a container, that CUE builds on its own and that is then placed into a
// slot. Its field mask lists the fields of the input that the component reads. Inputs that differ only in other fields
// share the component.
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
// The key of a cache entry is the input as JSON, but without two sets of fields: those from which parameters are
// filled, and those on which only parameters depend (INPUT in @fill(KEY,of=INPUT)). These fields are known only after
// CUE has built the first object, so a cache has one group of entries for each set of parameters.
//
// A cache of shapes serves one builder and cache group, such as the runtimes of one catalogue entry, because only the
// objects of one group can have the same shape. One cache of components serves all builders and groups. Nothing is
// cached between runs.
//
// Two checks verify what the marks promise. When a shape is built, every parameter is compared with its source. The
// differential tests compare objects from the caches with objects that CUE builds without caches.
package shape
