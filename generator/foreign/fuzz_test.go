package foreign

import (
	"encoding/json"
	"errors"
	"regexp"
	"slices"
	"testing"
	"time"

	trainer "github.com/kubeflow/trainer/v2/pkg/apis/trainer/v1alpha1"
	strict "sigs.k8s.io/json"

	"github.com/trainyard/trainyard/generator/internal/document"
	"github.com/trainyard/trainyard/generator/problem"
)

// FuzzVet: whatever the text, Vet neither panics nor points outside of it, and
// finds a field or type wrong exactly when strict decoding would.
func FuzzVet(f *testing.F) {
	f.Add(false, good)
	f.Add(false, plainGood)
	f.Add(false, "apiVersion: v1\nkind: List\nitems: [{apiVersion: trainer.kubeflow.org/v1, kind: TrainingRuntime, spec: ~}, null]")
	f.Add(false, "a: &a [*a]\n---\n? [x]\n: <<\n---\n!!binary é")
	f.Add(true, `{"apiVersion": "trainer.kubeflow.org/v1", "kind": "TrainingRuntime", "spec": {"mlPolicy": {"mpi": {}}}}`)
	for _, tc := range allBad() {
		text, _ := unmark(tc.text(f))
		f.Add(false, text)
	}
	f.Fuzz(func(t *testing.T, asJSON bool, text string) {
		// Nothing else ends a function that hangs; the fuzzer keeps the input.
		timer := time.AfterFunc(20*time.Second, func() { panic("one input took more than 20s") }) //nolint:forbidigo // see above
		defer timer.Stop()
		name := "a.yaml"
		if asJSON {
			name = "a.json"
		}
		check(t, name, text)
	})
}

// TestAnythingMayStandAnywhere replaces each value of good runtimes by values of other kinds.
func TestAnythingMayStandAnywhere(t *testing.T) {
	scalar := func(v any) *document.Node { return &document.Node{Scalar: v} }
	list := func(items ...*document.Node) *document.Node {
		return &document.Node{Kind: document.List, Items: items}
	}
	mapping := &document.Node{Kind: document.Mapping, Fields: []document.Field{{Key: "name", Value: scalar("node")}}}
	others := []*document.Node{
		scalar(nil), scalar(""), scalar("node"), scalar(int64(-1)), scalar(1.5), scalar(true), mapping,
		{Kind: document.Mapping}, list(), list(scalar(nil)), list(scalar("x")), list(mapping, mapping), list(list(mapping)),
	}
	for _, text := range []string{good, plainGood} {
		documents, err := document.ParseStream("good.yaml", []byte(text))
		if err != nil {
			t.Fatal(err)
		}
		for _, n := range below(documents[0]) {
			kept := *n
			for _, other := range others {
				*n = *other
				text, err := json.Marshal(documents[0].Plain())
				if err != nil {
					t.Fatal(err)
				}
				check(t, "a.json", string(text))
			}
			*n = kept
		}
	}
}

// below lists the nodes that a node holds.
func below(n *document.Node) []*document.Node {
	var all []*document.Node
	for _, f := range n.Fields {
		all = append(append(all, f.Value), below(f.Value)...)
	}
	for _, item := range n.Items {
		all = append(append(all, item), below(item)...)
	}
	return all
}

// lineBreak is what ends a line of YAML.
var lineBreak = regexp.MustCompile("\r\n|[\r\n\u0085\u2028\u2029]")

// check vets a text whose runtimes may hold anything.
func check(t *testing.T, name, text string) {
	t.Helper()
	report, err := Vet(name, []byte(text))
	var list problem.List
	if err != nil && !errors.As(err, &list) {
		t.Fatalf("Vet(): error %T, want a problem.List", err)
	}
	Is(name, []byte(text))
	lines := lineBreak.Split(text, -1)
	if name == "a.json" {
		lines = regexp.MustCompile("\r\n|[\r\n]").Split(text, -1)
	}
	for _, p := range append(report.Problems, report.Notes...) {
		summary(t, p)
		if p.Line < 1 || p.Line > len(lines) || p.Column < 1 || p.Column > len([]rune(lines[p.Line-1]))+1 {
			t.Errorf("%s lies outside of the text", p)
		}
	}
	if err == nil {
		agrees(t, name, text)
	}
}

// agrees holds our comparison with upstream's types against upstream's decoder.
func agrees(t *testing.T, name, text string) {
	t.Helper()
	documents, _ := document.ParseStream(name, []byte(text))
	for _, n := range documents {
		for _, v := range runtimesIn(root(n)) {
			encoded, err := json.Marshal(v.node.Plain())
			if err != nil || lenient(v.node) {
				continue
			}
			shape := compare(v)
			unknown, err := strict.UnmarshalStrict(encoded, new(trainer.ClusterTrainingRuntime))
			if (err != nil) != (len(shape.wrong) > 0) {
				t.Errorf("strict decoding says %v, and we %v", err, shape.wrong)
			}
			if err == nil && (len(unknown) > 0) != (len(shape.unknown) > 0) {
				t.Errorf("strict decoding says %v, and we %v", unknown, shape.unknown)
			}
		}
	}
}

// lenient tells whether a document may hold what we read otherwise on purpose:
// switches of old YAML, and quantities that take minutes.
func lenient(n *document.Node) bool {
	text, _ := n.Scalar.(string)
	if _, known := switches[text]; known || hugeExponent.MatchString(text) {
		return true
	}
	for _, f := range n.Fields {
		if lenient(f.Value) {
			return true
		}
	}
	return slices.ContainsFunc(n.Items, lenient)
}
