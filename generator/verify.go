package generator

import (
	"encoding/json"
	"fmt"

	"k8s.io/apimachinery/pkg/runtime/schema"
	sigsjson "sigs.k8s.io/json"

	"github.com/trainyard/trainyard/generator/internal/upstream"
)

// verify decodes an object of each shape strictly into upstream's type, as if
// someone else had written it: others of a shape differ in checked scalars only.
func (w *work) verify() error {
	for _, o := range w.objects {
		shape, _ := o.Shape()
		if w.verified[shape] {
			continue
		}
		if err := verifyObject(o.ID().GroupVersionKind, shape.Fields()); err != nil {
			return bug(fmt.Sprintf("verifying %s", o.ID()), err)
		}
		w.verified[shape] = true
	}
	return nil
}

func verifyObject(kind schema.GroupVersionKind, fields map[string]any) error {
	value := upstream.New(kind)
	if value == nil {
		return fmt.Errorf("no upstream type is known for %s", kind)
	}
	text, err := json.Marshal(fields)
	if err != nil {
		return err
	}
	unknown, err := sigsjson.UnmarshalStrict(text, value)
	if err != nil {
		return err
	}
	if len(unknown) > 0 {
		return unknown[0]
	}
	return nil
}

// BugError is an error that no input should be able to cause.
type BugError struct {
	Doing string // what was being done
	Err   error
}

func bug(doing string, err error) error { return &BugError{Doing: doing, Err: err} }

// Error says what was being done and what went wrong, on one line.
func (b *BugError) Error() string { return fmt.Sprintf("%s: %v", b.Doing, b.Err) }

// Unwrap returns the cause.
func (b *BugError) Unwrap() error { return b.Err }
