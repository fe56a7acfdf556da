package generator

import (
	"fmt"

	"cuelang.org/go/cue"

	"github.com/trainyard/trainyard/generator/object"
	"github.com/trainyard/trainyard/generator/problem"
)

// request is one entry of requests in compose.cue.
type request struct {
	From  []string       `json:"from"`
	Make  string         `json:"make"`
	Homes []string       `json:"homes"`
	In    map[string]any `json:"in"`
}

// maxObject is how large an object may get, in bytes as JSON: etcd takes requests
// of 1.5 MiB, and what the cluster adds needs room.
const maxObject = 1 << 20

// compose makes what the document asks for. But for the size of what comes of it,
// whatever goes wrong from here on is our fault: the document has been checked.
func (w *work) compose() error {
	var problems problem.List
	for entries := fieldsOf(w.filled.LookupPath(requestsPath)); entries.Next(); {
		var r request
		err := entries.Value().Validate(cue.Concrete(true))
		if err == nil {
			err = entries.Value().Decode(&r)
		}
		if err == nil {
			err = w.answer(r, &problems)
		}
		if err != nil {
			return bug("composing "+entries.Selector().Unquoted(), err)
		}
	}
	return problems.Err()
}

// answer makes the objects of a request, one for each home.
func (w *work) answer(r request, problems *problem.List) error {
	position, base := w.document.Locate(r.From...), problem.Path(r.From)
	var s *shape
	for _, home := range r.Homes {
		r.In["tenant"] = home
		if s == nil {
			var err error
			if s, err = w.shapes.of(r.Make, r.In, r.From); err != nil {
				return err
			}
			if s.size > maxObject {
				*problems = append(*problems, problem.Problem{Position: position, Path: base, Message: fmt.Sprintf(
					"becomes an object of %d KiB, and the API server takes %d KiB at most: give it less or shorter values", s.size>>10, maxObject>>10)})
				return nil
			}
		}
		values, err := s.values(r.In)
		if err != nil {
			return err
		}
		origin := object.Origin{Input: position.String(), Definition: s.definition}
		o, err := object.Make(s.common, values, origin, base, s.parameters)
		if err != nil {
			return err
		}
		w.objects = append(w.objects, o)
	}
	return nil
}

// descend follows keys of the document through its schema.
func descend(schema cue.Value, keys []string) cue.Value {
	for _, key := range keys {
		schema = schema.LookupPath(cue.MakePath(cue.Str(key).Optional()))
	}
	return schema
}

// definitionOf is the place of a value in our CUE.
func definitionOf(v cue.Value) string {
	position := cue.Dereference(v).Pos()
	return fmt.Sprintf("%s:%d:%d", position.Filename()[1:], position.Line(), position.Column())
}
