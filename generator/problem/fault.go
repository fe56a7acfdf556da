package problem

import "fmt"

// FaultError is an error in trainyard itself, which no input should be able to cause.
type FaultError struct {
	Doing string // the step that failed, as a gerund
	Err   error
}

// Fault returns a FaultError.
func Fault(doing string, err error) error { return &FaultError{Doing: doing, Err: err} }

// Error gives the step and its error on one line.
func (f *FaultError) Error() string { return fmt.Sprintf("%s: %v", f.Doing, f.Err) }

// Unwrap returns the cause.
func (f *FaultError) Unwrap() error { return f.Err }
