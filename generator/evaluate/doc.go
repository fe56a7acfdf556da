// Package evaluate runs the CUE of trainyard. Each Evaluator loads this CUE into a CUE context of its own. A Pool lends
// evaluators to goroutines, because a CUE context serves only one goroutine at a time.
package evaluate
