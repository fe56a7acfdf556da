package runtimevet

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

// FuzzVet checks that Vet never panics, and never reports a position outside of the text. Vet must report an
// unknown field or a wrong type if, and only if, a strict decoder reports one.
func FuzzVet(f *testing.F) {
	f.Add(false, goodRuntime)
	f.Add(false, plainGood)
	f.Add(false, "apiVersion: v1\nkind: List\nitems: [{apiVersion: trainer.kubeflow.org/v1, kind: TrainingRuntime, spec: ~}, null]")
	f.Add(false, "a: &a [*a]\n---\n? [x]\n: <<\n---\n!!binary é")
	f.Add(true, `{"apiVersion": "trainer.kubeflow.org/v1", "kind": "TrainingRuntime", "spec": {"mlPolicy": {"mpi": {}}}}`)
	for _, tc := range allTraps() {
		text, _ := unmark(tc.applyEdits(f))
		f.Add(false, text)
	}
	f.Fuzz(func(t *testing.T, asJSON bool, text string) {
		// If Vet hangs, only a panic can end the test. After the panic, the fuzzer stores the input
		// that made Vet hang.
		timer := time.AfterFunc(20*time.Second, func() { panic("one input took more than 20s") }) //nolint:forbidigo // see above
		defer timer.Stop()
		name := "a.yaml"
		if asJSON {
			name = "a.json"
		}
		check(t, name, text)
	})
}

// TestVetAcceptsAnyValueAnywhere checks the same properties as FuzzVet. Each input is a valid runtime in which one
// value is replaced by another value, usually of another type.
func TestVetAcceptsAnyValueAnywhere(t *testing.T) {
	scalar := func(v any) *document.Node { return &document.Node{Scalar: v} }
	list := func(items ...*document.Node) *document.Node {
		return &document.Node{Kind: document.List, Items: items}
	}
	mapping := &document.Node{Kind: document.Mapping, Fields: []document.Field{{Key: "name", Value: scalar("node")}}}
	others := []*document.Node{
		scalar(nil), scalar(""), scalar("node"), scalar(int64(-1)), scalar(1.5), scalar(true), mapping,
		{Kind: document.Mapping}, list(), list(scalar(nil)), list(scalar("x")), list(mapping, mapping), list(list(mapping)),
	}
	for _, text := range []string{goodRuntime, plainGood} {
		documents, err := document.ParseStream("good.yaml", []byte(text))
		if err != nil {
			t.Fatal(err)
		}
		for _, n := range descendants(documents[0]) {
			original := *n
			for _, other := range others {
				*n = *other
				text, err := json.Marshal(documents[0].Plain())
				if err != nil {
					t.Fatal(err)
				}
				check(t, "a.json", string(text))
			}
			*n = original
		}
	}
}

func descendants(n *document.Node) []*document.Node {
	var all []*document.Node
	for _, f := range n.Fields {
		all = append(append(all, f.Value), descendants(f.Value)...)
	}
	for _, item := range n.Items {
		all = append(append(all, item), descendants(item)...)
	}
	return all
}

var lineBreak = regexp.MustCompile("\r\n|[\r\n\u0085\u2028\u2029]")

func check(t *testing.T, name, text string) {
	t.Helper()
	report, err := Vet(name, []byte(text))
	var list problem.List
	if err != nil && !errors.As(err, &list) {
		t.Fatalf("Vet(): error %T, want a problem.List", err)
	}
	IsRuntimeFile(name, []byte(text))
	lines := lineBreak.Split(text, -1)
	if name == "a.json" {
		lines = regexp.MustCompile("\r\n|[\r\n]").Split(text, -1)
	}
	for _, p := range append(report.Problems, report.Notes...) {
		summary(t, p)
		if p.Line < 1 || p.Line > len(lines) || p.Column < 1 || p.Column > len([]rune(lines[p.Line-1]))+1 {
			t.Errorf("%s is outside of the text", p)
		}
	}
	if err == nil {
		compareWithDecoder(t, name, text)
	}
}

func compareWithDecoder(t *testing.T, name, text string) {
	t.Helper()
	documents, _ := document.ParseStream(name, []byte(text))
	for _, n := range documents {
		for _, v := range listRuntimes(rootValue(n)) {
			encoded, err := json.Marshal(v.node.Plain())
			if err != nil || hasHugeExponent(v.node) {
				continue
			}
			var report Report
			p := pass{runtime: newRuntime(v), wrongTypes: map[string]bool{}, report: &report}
			p.checkTypes()
			unknown, err := strict.UnmarshalStrict(encoded, new(trainer.ClusterTrainingRuntime))
			if (err != nil) != (len(report.Problems) > 0) {
				t.Errorf("strict decoding returns %v, and checkTypes reports %v", err, report.Problems)
			}
			if err == nil && (len(unknown) > 0) != (len(report.Notes) > 0) {
				t.Errorf("strict decoding returns %v, and checkTypes reports %v", unknown, report.Notes)
			}
		}
	}
}

// hasHugeExponent reports whether a document contains a valid quantity that Vet refuses because of its huge exponent.
func hasHugeExponent(n *document.Node) bool {
	return slices.ContainsFunc(append(descendants(n), n), func(n *document.Node) bool { return hugeExponent.MatchString(n.AsString()) })
}
