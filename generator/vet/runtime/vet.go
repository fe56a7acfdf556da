// Package runtimevet checks the text of training runtimes that trainyard did not generate. The package finds traps,
// which are mistakes in a runtime. Most traps concern the use of MPI on Kubeflow Trainer. The cluster accepts most
// traps without an error, so users notice them only when a TrainJob hangs, runs on only one node, or runs twice. The
// package reads only the text of the file. For example, it does not inspect images.
package runtimevet

import (
	"fmt"
	"slices"
	"strings"

	"github.com/trainyard/trainyard/generator/internal/document"
	"github.com/trainyard/trainyard/generator/problem"
)

// Report holds the findings of Vet in one text. Problems and Notes are sorted by their positions in
// the text.
type Report struct {
	Runtimes int          // number of runtimes in the file
	Problems problem.List // values that break jobs, or that the cluster refuses
	Notes    problem.List // values that break no jobs, but have another effect than the file suggests
}

// Trap is a mistake that Vet finds.
type Trap struct {
	Name string // the name of the rule, such as many-launchers; each message begins with this name
	Doc  string // the meaning of the rule, in one sentence without a full stop
}

// Vet checks every runtime in a text, and ignores objects of other kinds. The text is a YAML stream, a JSON file, or
// a List from kubectl get. If the text cannot be read, the error is a problem.List and the report is empty.
func Vet(name string, text []byte) (Report, error) {
	documents, err := document.ParseStream(name, text)
	if err != nil {
		return Report{}, err
	}
	var report Report
	for _, n := range documents {
		for _, v := range listRuntimes(rootValue(n)) {
			report.Runtimes++
			vetRuntime(v, &report)
		}
	}
	// Err is called only to sort the lists Problems and Notes. The errors that Err returns are not used, because the
	// report already contains the problems.
	_, _ = report.Problems.Err(), report.Notes.Err()
	return report, nil
}

// IsRuntimeFile reports whether a text contains a training runtime or an empty List. IsRuntimeFile recognizes a
// training runtime only by its API group and its kind. IsRuntimeFile stops at the first syntax error.
func IsRuntimeFile(name string, text []byte) bool {
	documents, _ := document.ParseStream(name, text) // Vet reports the error
	return slices.ContainsFunc(documents, func(n *document.Node) bool {
		return len(listRuntimes(rootValue(n))) > 0 || isEmptyList(n)
	})
}

// isEmptyList reports whether a document is an empty List. If a cluster has no runtimes, kubectl get prints an empty
// List.
func isEmptyList(n *document.Node) bool {
	items := n.Get("items")
	return isList(n) && !items.Empty() && len(items.Items) == 0
}

func isList(n *document.Node) bool { return strings.HasSuffix(n.Get("kind").AsString(), "List") }

// listRuntimes returns the document itself if the document is a runtime. If the document is a List, listRuntimes
// returns the runtimes in the List.
func listRuntimes(v value) []value {
	apiGroup, _, _ := strings.Cut(v.get("apiVersion").text(), "/")
	kind := v.get("kind").text()
	switch {
	case apiGroup == group && (kind == "ClusterTrainingRuntime" || kind == "TrainingRuntime"):
		return []value{v}
	case !isList(v.node):
		return nil
	}
	var found []value
	for _, item := range v.get("items").listItems() {
		found = append(found, listRuntimes(item)...)
	}
	return found
}

// Traps returns all traps, ordered by name.
func Traps() []Trap {
	var traps []Trap
	for _, r := range trapRules {
		traps = append(traps, Trap{Name: r.name, Doc: r.doc})
	}
	slices.SortFunc(traps, func(a, b Trap) int { return strings.Compare(a.Name, b.Name) })
	return traps
}

type pass struct {
	runtime
	rule       rule            // the rule being applied
	wrongTypes map[string]bool // paths of values with a wrong type
	unknown    int             // number of unknown fields
	report     *Report
}

func vetRuntime(v value, report *Report) {
	p := &pass{runtime: newRuntime(v), wrongTypes: map[string]bool{}, report: report}
	p.checkTypes()
	for _, r := range trapRules {
		if r.check != nil && (!r.mpi || p.mpi.isSet()) {
			p.rule = r
			r.check(p)
		}
	}
}

// addProblem reports a value that breaks jobs, or that the cluster refuses. Each message states the effect, then
// the cause of the effect, and then what to write instead.
func (p *pass) addProblem(v value, format string, args ...any) {
	p.add(&p.report.Problems, v, fmt.Sprintf(format, args...))
}

func (p *pass) note(v value, format string, args ...any) {
	p.add(&p.report.Notes, v, fmt.Sprintf(format, args...))
}

func (p *pass) add(list *problem.List, v value, message string) {
	if p.rule.name != wrongType.name && p.hasWrongType(v.path) {
		return
	}
	*list = append(*list, problem.Problem{
		Position: v.at,
		Rule:     problem.Rule{Name: p.rule.name, Doc: p.rule.doc},
		Path:     problem.Path(v.path),
		Message:  p.rule.name + ": " + message,
	})
}

// hasWrongType reports whether the value at a path has a wrong type, or is inside a value with a wrong type.
// The rules do not report other mistakes in such a value.
func (p *pass) hasWrongType(path []string) bool {
	for end := range path {
		if p.wrongTypes[pathKey(path[:end+1])] {
			return true
		}
	}
	return false
}

func pathKey(path []string) string { return strings.Join(path, "\x00") }
