// Package compose builds the Kubernetes objects for the requests of a plan.
package compose

import (
	"context"
	"fmt"
	"slices"

	"github.com/trainyard/trainyard/generator/compose/shape"
	"github.com/trainyard/trainyard/generator/evaluate"
	"github.com/trainyard/trainyard/generator/object"
	"github.com/trainyard/trainyard/generator/plan"
	"github.com/trainyard/trainyard/generator/problem"
)

// maxObject is the maximum size of an object as JSON, in bytes. It is below etcd's limit of 1.5 MiB for a request,
// because the cluster adds fields to objects.
const maxObject = 1 << 20

type job struct {
	plan    *plan.Plan
	request plan.Request

	objects []object.Object // one for each target namespace
	err     error           // a problem.List, or a fault
}

// Objects builds the objects of each plan. The list "errs" contains one item for each plan. If an internal error
// occurs, the item is a fault. Otherwise, if an object of the plan is too large, the item is a problem.List. Otherwise,
// the item is nil. If there are many runtimes, different cache groups are composed in parallel. The requests of one
// cache group are composed one after the other, so that a request can reuse the shapes of earlier requests. Objects
// that differ only in the values of parameters have the same shape.
func Objects(ctx context.Context, pool *evaluate.Pool, runtimes int, plans []*plan.Plan) (sets []object.Set, errs []error, err error) {
	jobs := make([][]*job, len(plans))
	var all []*job
	for i, p := range plans {
		for _, r := range p.Requests {
			jobs[i] = append(jobs[i], &job{plan: p, request: r})
		}
		all = append(all, jobs[i]...)
	}
	groups, components := cacheGroups(all), shape.NewComponents()
	err = pool.Each(ctx, len(groups), runtimes, func(e *evaluate.Evaluator, i int) {
		composer := shape.NewComposer(e, components)
		for _, j := range groups[i] {
			j.objects, j.err = Request(composer, j.plan, j.request)
		}
	})
	if err != nil {
		return nil, nil, err
	}
	sets, errs = make([]object.Set, len(plans)), make([]error, len(plans))
	for i := range plans {
		sets[i], errs[i] = collect(jobs[i])
	}
	return sets, errs, nil
}

// cacheGroups divides the jobs into groups. Here, a job is the task to build the objects of one request. The requests
// of all jobs in a group have the same builder and the same CacheGroup. In the result, group A precedes group B if the
// first job of A precedes the first job of B in the argument "jobs".
func cacheGroups(jobs []*job) [][]*job {
	var groups [][]*job
	for _, j := range jobs {
		at := slices.IndexFunc(groups, func(group []*job) bool {
			return group[0].request.Builder == j.request.Builder && group[0].request.CacheGroup == j.request.CacheGroup
		})
		if at < 0 {
			at, groups = len(groups), append(groups, nil)
		}
		groups[at] = append(groups[at], j)
	}
	return groups
}

// Request builds the objects of one request: one object for each target
// namespace.
func Request(composer *shape.Composer, p *plan.Plan, r plan.Request) (objects []object.Object, err error) {
	position, section := p.Document.Root.Locate(r.From...), problem.Path(r.From)
	var s *shape.Shape
	for _, namespace := range r.Namespaces {
		r.Input["tenant"] = namespace
		if s == nil {
			if s, err = composer.Shape(r); err != nil {
				return nil, err
			}
		}
		parameters, err := s.Values(r.Input)
		if err != nil {
			return nil, err
		}
		if size := s.Size(parameters); size > maxObject {
			return nil, problem.List{{Position: position, Rule: problem.TooLarge, Path: section, Message: fmt.Sprintf(
				"becomes an object of %d KiB, and the API server accepts %d KiB at most: use fewer or shorter values", size>>10, maxObject>>10)}}
		}
		o, err := object.Make(s.Object, parameters, object.Origin{Input: position.String(), Definition: s.Definition}, section, s.Parameters)
		if err != nil {
			return nil, err
		}
		objects = append(objects, o)
	}
	return objects, nil
}

// collect returns the objects that the jobs of a plan have composed. If a job failed with a fault, the error is
// the first fault. Otherwise, if jobs failed with problems, the error lists the problems of all jobs.
func collect(jobs []*job) (object.Set, error) {
	var objects []object.Object
	var problems problem.List
	for _, j := range jobs {
		switch found, isProblem := j.err.(problem.List); { //nolint:errorlint // set above, never wrapped
		case isProblem:
			problems = append(problems, found...)
		case j.err != nil:
			return object.Set{}, problem.Fault("composing "+problem.Path(j.request.From), j.err)
		}
		objects = append(objects, j.objects...)
	}
	if len(problems) > 0 {
		return object.Set{}, problems.Err()
	}
	return object.NewSet(objects...)
}
