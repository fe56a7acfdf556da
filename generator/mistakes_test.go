package generator

import (
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/trainyard/trainyard/generator/problem"
)

// TestOneMistakeIsOneProblem puts a value that no field admits in the place of each value of documents
// that are right, and mistypes each of their keys. What follows from that, there or elsewhere, is no
// mistake of its own. TRAINYARD_SEED chooses which quarter of these mistakes is tried.
func TestOneMistakeIsOneProblem(t *testing.T) {
	var shared sharedPool
	for _, layers := range rightDocuments(t)[:3] {
		var right map[string]any
		if err := yaml.Unmarshal(layers[0].Text, &right); err != nil {
			t.Fatal(err)
		}
		spec, _ := right["spec"].(map[string]any)
		delete(spec, "environments") // which replace what is wrong, and then something else is
		all := mistakes(right)
		delete(all, "refused") // which is no document
		for i, what := range slices.Sorted(maps.Keys(all)) {
			if i%4 == int(seedOf(t)%4) {
				t.Run(layers[0].Name+"/"+what, func(t *testing.T) { reportedOnce(t, &shared, all[what]) })
			}
		}
	}
}

func reportedOnce(t *testing.T, shared *sharedPool, wrong any) {
	t.Helper()
	text, err := json.Marshal(wrong)
	if err != nil {
		t.Fatal(err)
	}
	input := Input{Name: "wrong.json", Text: text}
	problems := wellFormed(t, shared.generate(t.Context(), t, input), input)
	refused := slices.ContainsFunc(problems, func(one problem.Problem) bool {
		return one.Rule == problem.UnknownKey || strings.Contains(one.Message, "U+202E")
	})
	// Else it is the name of something, which may have any, and be missed elsewhere.
	if refused && len(problems) != 1 || !refused && strings.Contains(string(text), "\u202e") {
		t.Errorf("reported %d times:\n%v", len(problems), problems)
	}
}

// mistakes are copies of a value with one mistake each, by what it is.
func mistakes(value any) map[string]any {
	all := map[string]any{"refused": "\u202e"}
	switch value := value.(type) {
	case map[string]any:
		for key, below := range value {
			mistyped := maps.Clone(value)
			delete(mistyped, key)
			mistyped[key+"x"] = below
			all[key+".mistyped"] = mistyped
			for what, wrong := range mistakes(below) {
				changed := maps.Clone(value)
				changed[key] = wrong
				all[key+"."+what] = changed
			}
		}
	case []any:
		for i, item := range value {
			for what, wrong := range mistakes(item) {
				changed := slices.Clone(value)
				changed[i] = wrong
				all[strconv.Itoa(i)+"."+what] = changed
			}
		}
	}
	return all
}
