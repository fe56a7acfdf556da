package generator

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"cuelang.org/go/cue"

	"github.com/trainyard/trainyard/generator/object"
	"github.com/trainyard/trainyard/generator/problem"
)

// maxObject is how large an object may get, in bytes as JSON: etcd takes requests
// of 1.5 MiB, and what the cluster adds needs room.
const maxObject = 1 << 20

// composeAll makes what the documents ask for. Requests of one kin are composed one
// after the other, because they may share shapes, and different ones beside each other.
// But for the size of what comes of it, whatever goes wrong from here on is our fault:
// the documents have been checked.
func composeAll(ctx context.Context, s *source, works []*work) error {
	jobs := jobsOf(works)
	kin := kinOf(jobs)
	pooled := newPool()
	err := s.engines.share(ctx, len(kin), len(works)*s.runtimes(), func(on *engine, i int) {
		family := &family{engine: on, pool: pooled}
		for _, j := range kin[i] {
			j.answer = j.work.answer(family, j.request)
		}
	})
	if err != nil {
		return err
	}
	for _, j := range jobs {
		j.collect()
	}
	return nil
}

// job is one request of a document, and its answer.
type job struct {
	work *work
	request
	answer answer
}

// jobsOf lists what all documents ask for, in their order.
func jobsOf(works []*work) []*job {
	var jobs []*job
	for _, w := range works {
		if w.err != nil {
			continue
		}
		for _, r := range w.requests {
			jobs = append(jobs, &job{work: w, request: r})
		}
	}
	return jobs
}

// kinOf parts jobs by their kin, each kin where its first stands.
func kinOf(jobs []*job) [][]*job {
	var all [][]*job
	for _, j := range jobs {
		at := slices.IndexFunc(all, func(kin []*job) bool { return kin[0].Make == j.Make && kin[0].Kin == j.Kin })
		if at < 0 {
			at, all = len(all), append(all, nil)
		}
		all[at] = append(all[at], j)
	}
	return all
}

// collect hands the answer over to the work. Problems are of the document, so they
// are no reason to stop before all have been found.
func (j *job) collect() {
	var problems problem.List
	switch w := j.work; {
	case j.answer.err != nil:
		w.err = bug("composing "+problem.Path(j.From), j.answer.err)
	case w.err != nil && !errors.As(w.err, &problems): // our fault already
	case len(j.answer.problems) > 0:
		w.err = append(problems, j.answer.problems...)
	}
	j.work.objects = append(j.work.objects, j.answer.objects...)
}

// answer is what becomes of a request.
type answer struct {
	objects  []object.Object // one for each home
	problems problem.List
	err      error // which is our fault
}

// answer makes the objects of a request.
func (w *work) answer(family *family, r request) (a answer) {
	position, base := w.document.Locate(r.From...), problem.Path(r.From)
	var s *shape
	for _, home := range r.homes {
		r.In["tenant"] = home
		if s == nil {
			if s, a.err = family.shape(r); a.err != nil {
				return a
			}
		}
		values, err := s.values(r.In)
		if err != nil {
			a.err = err
			return a
		}
		if size := s.sizeWith(values); size > maxObject {
			a.problems = problem.List{{Position: position, Rule: tooLarge, Path: base, Message: fmt.Sprintf(
				"becomes an object of %d KiB, and the API server takes %d KiB at most: give it less or shorter values", size>>10, maxObject>>10)}}
			return a
		}
		o, err := object.Make(s.common, values, object.Origin{Input: position.String(), Definition: s.definition}, base, s.parameters)
		if err != nil {
			a.err = err
			return a
		}
		a.objects = append(a.objects, o)
	}
	return a
}

// sizeWith is the size of an object of the shape with these values, as JSON, in bytes.
func (s *shape) sizeWith(values []any) int {
	size := s.size
	for _, value := range values {
		size += sizeOf(value)
	}
	return size
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
