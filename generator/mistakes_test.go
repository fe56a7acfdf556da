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

// TestOneMistakeIsOneProblem puts one mistake at a time into valid documents: a value that no field admits, or a
// misspelled key. One run tries only a quarter of the mistakes. The environment variable TRAINYARD_SEED selects
// the quarter.
func TestOneMistakeIsOneProblem(t *testing.T) {
	var shared sharedPool
	for _, layers := range rightDocuments(t)[:3] {
		var right map[string]any
		if err := yaml.Unmarshal(layers[0].Text, &right); err != nil {
			t.Fatal(err)
		}
		spec, _ := right["spec"].(map[string]any)
		delete(spec, "environments") // an environment could replace the value that contains the mistake
		all := copiesWithMistakes(right)
		delete(all, "refused") // in this copy, the mistake replaces the whole document
		for i, what := range slices.Sorted(maps.Keys(all)) {
			if i%4 == int(readSeed(t)%4) {
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
	// trainyard refuses every mistake, except a misspelling of a name that the author chooses, such as the
	// name of a runtime. After such a misspelling, the test does not check the number of problems, because
	// each reference to the original name can cause a problem.
	if refused && len(problems) != 1 || !refused && strings.Contains(string(text), "\u202e") {
		t.Errorf("want one problem for one mistake, got %d:\n%v", len(problems), problems)
	}
}

// copiesWithMistakes returns copies of a value, each with one mistake. The copies are the values of the returned map.
// Each key of this map consists of the path of a mistake and the type of this mistake. The type "refused" means that
// the mistake is a value that no field admits. The type "mistyped" means that the mistake is a misspelled key.
func copiesWithMistakes(value any) map[string]any {
	all := map[string]any{"refused": "\u202e"}
	switch value := value.(type) {
	case map[string]any:
		for key, below := range value {
			mistyped := maps.Clone(value)
			delete(mistyped, key)
			mistyped[key+"x"] = below
			all[key+".mistyped"] = mistyped
			for what, wrong := range copiesWithMistakes(below) {
				changed := maps.Clone(value)
				changed[key] = wrong
				all[key+"."+what] = changed
			}
		}
	case []any:
		for i, item := range value {
			for what, wrong := range copiesWithMistakes(item) {
				changed := slices.Clone(value)
				changed[i] = wrong
				all[strconv.Itoa(i)+"."+what] = changed
			}
		}
	}
	return all
}
