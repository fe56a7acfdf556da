// Package foreign checks training runtimes that somebody else wrote, by hand or
// with another tool, for the traps of MPI on Kubeflow Trainer. Most of them pass
// every check of the cluster, and show only when a TrainJob hangs, runs on one
// node, or runs twice.
//
// It reads text and nothing else: what a rule cannot see in the file, such as
// the content of an image, is not judged.
package foreign

import (
	"errors"
	"slices"
	"strings"

	"github.com/trainyard/trainyard/generator/internal/document"
	"github.com/trainyard/trainyard/generator/problem"
)

// Report is what was found in a file of runtimes, each list in the order of the text.
type Report struct {
	Runtimes int          // how many runtimes the file holds
	Problems problem.List // what breaks jobs, or is refused by the cluster
	Notes    problem.List // what works, with a surprise
}

// Trap is a mistake that Vet finds.
type Trap struct {
	Name string // what messages about it begin with, such as many-launchers
	Doc  string // what it means, in one sentence without a full stop
}

// Vet checks every runtime of a YAML stream or JSON file, also inside a List as
// kubectl writes it; documents of other kinds are passed over. A text that
// cannot be read gives a problem.List as error, and no report.
func Vet(name string, text []byte) (Report, error) {
	documents, err := document.ParseStream(name, text)
	if err != nil {
		return Report{}, unreadable(err)
	}
	var report Report
	for _, n := range documents {
		for _, v := range runtimesIn(root(n)) {
			report.Runtimes++
			report.add(newRuntime(v))
		}
	}
	// Err brings a list into the order of the text; here it is no error.
	_, _ = report.Problems.Err(), report.Notes.Err()
	return report, nil
}

// Is tells whether a document of a text claims to be a training runtime, or a
// List that holds one or nothing, by group and kind: a platform document is neither.
// A text that is at fault further on is judged by what stands before the fault.
func Is(name string, text []byte) bool {
	documents, _ := document.ParseStream(name, text) // Vet reports what is wrong
	return slices.ContainsFunc(documents, func(n *document.Node) bool {
		return len(runtimesIn(root(n))) > 0 || isEmptyList(root(n))
	})
}

// isEmptyList tells what kubectl prints of a cluster without runtimes.
func isEmptyList(v value) bool {
	kind, _ := v.get("kind").text()
	return strings.HasSuffix(kind, "List") && v.get("items").given() && len(v.get("items").items()) == 0
}

// Traps lists every trap, ordered by name.
func Traps() []Trap {
	var traps []Trap
	for _, rule := range rules {
		traps = append(traps, Trap{Name: rule.name, Doc: rule.doc})
	}
	slices.SortFunc(traps, func(a, b Trap) int { return strings.Compare(a.Name, b.Name) })
	return traps
}

// add runs every rule on a runtime. What stands where a value of another kind
// belongs has been reported as such, and is not judged further.
func (r *Report) add(ctr runtime) {
	for _, rule := range rules {
		if rule.mpi && !ctr.mpi.given() {
			continue
		}
		for _, f := range rule.check(ctr) {
			if rule.name == wrongType || !ctr.shape.spoils(f.path) {
				r.report(rule, f)
			}
		}
	}
}

func (r *Report) report(trap rule, f finding) {
	list := &r.Problems
	if f.note {
		list = &r.Notes
	}
	*list = append(*list, problem.Problem{
		Position: f.at,
		Rule:     problem.Rule{Name: trap.name, Doc: trap.doc},
		Path:     problem.Path(f.path),
		Message:  trap.name + ": " + f.says,
	})
}

// unreadable says of the problems of a text which rule they break.
func unreadable(err error) error {
	var problems problem.List
	if errors.As(err, &problems) {
		return problems.By(problem.Syntax)
	}
	return err
}
