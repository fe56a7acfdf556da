// Package shape composes objects with CUE, and caches the results, because CUE takes about 4 ms for each runtime.
//
// A shape is an object without its parameters: the scalars that CUE marks with @param(KEY) or @fill(KEY). A mark
// promises that the scalar equals a field of the builder's input, and that nothing else in the object depends on
// that field. Inputs that differ only in parameters therefore have the same shape, and the second object is the
// first one with other values.
//
// A component is a part of an object, such as a container, that CUE builds on its own and that is then placed into
// a slot. Its field mask lists the fields of the input that it reads. Inputs that differ in other fields share it.
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
// The key of a cache is the input without the fields that parameters are filled from, and without the dependents of
// parameters (@fill(KEY,of=INPUT)), written as JSON. Which fields these are is known only after CUE has built the
// first object, so a cache has one group of entries for each set of parameters.
//
// Shapes are cached for one builder and cache group, such as the runtimes of one catalogue entry, because only
// these can have the same shape. Components are cached for all of them. Nothing is cached between runs.
//
// Two tests keep the promise of the marks. Every parameter is compared with its source when a shape is built, and
// the differential tests compare objects from the caches with objects that CUE builds alone.
package shape
