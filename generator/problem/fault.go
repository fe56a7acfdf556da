package problem

import "fmt"

// FaultError reports a mistake in trainyard itself. No input of a user should be able to cause a
// FaultError.
type FaultError struct {
	Doing string // the step that failed, as a gerund
	Err   error
}

// Fault returns a FaultError that contains a failed step and the error of the step. An example of a step is
// "reading the schema".
func Fault(doing string, err error) error { return &FaultError{Doing: doing, Err: err} }

// Error returns one line with the failed step and its cause.
func (f *FaultError) Error() string { return fmt.Sprintf("%s: %v", f.Doing, f.Err) }

// Unwrap returns the cause.
func (f *FaultError) Unwrap() error { return f.Err }
