// Package evaluate runs our CUE. An Evaluator holds it in a CUE context of its own, and a Pool shares
// evaluators among goroutines, because a CUE context serves one goroutine at a time.
package evaluate
