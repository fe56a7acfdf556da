// Package evaluate loads and evaluates trainyard's CUE definitions. Each Evaluator loads trainyard's CUE into its
// own CUE context. A Pool lends evaluators to goroutines, because a CUE context serves only one goroutine at a
// time.
package evaluate
