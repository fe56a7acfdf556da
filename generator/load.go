package generator

import (
	"errors"
	"fmt"

	"cuelang.org/go/cue/cuecontext"
	"cuelang.org/go/cue/load"

	"github.com/trainyard/trainyard/generator/internal/document"
)

// load reads the document, and our definitions.
func (p *Pipeline) load(w *work) (err error) {
	w.document, err = document.Parse(w.input.Name, w.input.Text)
	if err != nil && (w.document == nil || !errors.As(err, &w.problems)) {
		return err
	}
	return p.loadDefinitions(w)
}

// loadDefinitions builds our CUE.
func (p *Pipeline) loadDefinitions(w *work) error {
	instance := load.Instances([]string{"."}, &load.Config{FS: p.definitions, Dir: "/generator"})[0]
	if instance.Err != nil {
		return fmt.Errorf("loading definitions: %w", instance.Err)
	}
	w.context = cuecontext.New()
	w.cue = w.context.BuildInstance(instance)
	if err := w.cue.Err(); err != nil {
		return fmt.Errorf("building definitions: %w", err)
	}
	w.schema = w.cue.LookupPath(documentPath)
	return nil
}
