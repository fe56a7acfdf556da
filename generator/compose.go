package generator

import (
	"fmt"

	"cuelang.org/go/cue"
	"sigs.k8s.io/json"

	"github.com/trainyard/trainyard/generator/object"
)

// composed is one entry of objects in compose.cue.
type composed struct {
	from       []string
	definition cue.Value
	object     cue.Value
}

// compose evaluates objects. Whatever goes wrong from here on is our fault: the
// document has been checked.
func (w *work) compose() error {
	entries, err := w.filled.LookupPath(objectsPath).Fields()
	if err != nil {
		return bug("composing objects", err)
	}
	for entries.Next() {
		o, err := w.toObject(entries.Value())
		if err != nil {
			return bug(fmt.Sprintf("composing %s", entries.Selector().Unquoted()), err)
		}
		w.objects = append(w.objects, o)
	}
	return nil
}

func (w *work) toObject(entry cue.Value) (object.Object, error) {
	var c composed
	if err := c.read(entry); err != nil {
		return object.Object{}, err
	}
	text, err := c.object.MarshalJSON()
	if err != nil {
		return object.Object{}, err
	}
	var fields map[string]any
	if err := json.UnmarshalCaseSensitivePreserveInts(text, &fields); err != nil {
		return object.Object{}, err
	}
	parameters, err := w.parameters(c)
	if err != nil {
		return object.Object{}, err
	}
	return object.New(fields, w.origin(c), parameters)
}

func (c *composed) read(entry cue.Value) error {
	c.definition = entry.LookupPath(cue.ParsePath("definition"))
	c.object = entry.LookupPath(cue.ParsePath("object"))
	if err := c.object.Validate(cue.Concrete(true), cue.Final()); err != nil {
		return err
	}
	return entry.LookupPath(cue.ParsePath("from")).Decode(&c.from)
}

func (w *work) origin(c composed) object.Origin {
	position := cue.Dereference(c.definition).Pos()
	return object.Origin{
		Input:      w.document.Locate(c.from...).String(),
		Definition: fmt.Sprintf("%s:%d:%d", position.Filename()[1:], position.Line(), position.Column()),
	}
}
