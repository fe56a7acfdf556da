package bundles

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/trainyard/trainyard/generator/object"
)

// helmValues are the values of parameters as a tree, by the keys that the document has for them below spec.
type helmValues map[string]*helmValue

// helmValue is a parameter, or holds others.
type helmValue struct {
	below     helmValues
	value     any
	parameter object.Parameter
	parts     map[string]bool // of the platform, that have objects with it

	least, most any // that the document allows beside what cannot be changed, of whole numbers; nil where its schema says it all
}

// stepsOf are the keys of the document that lead to a parameter, below spec. Names that could be
// taken for several are quoted (problem.Path).
func stepsOf(key string) []string {
	var steps []string
	for rest := strings.TrimPrefix(key, "spec."); rest != ""; {
		step := rest
		if rest[0] == '"' {
			var quoted string
			end := 2 + strings.IndexByte(rest[1:], '"')
			if json.Unmarshal([]byte(rest[:end]), &quoted) == nil {
				steps, rest = append(steps, quoted), strings.TrimPrefix(rest[end:], ".")
				continue
			}
		}
		step, rest, _ = strings.Cut(step, ".")
		steps = append(steps, step)
	}
	return steps
}

// add notes a parameter with the value that an object of a part has for it. What an object says again as text
// was a number first.
func (v helmValues) add(p object.Parameter, now any, part string) error {
	steps := stepsOf(p.Key)
	for _, step := range steps[:len(steps)-1] {
		if v[step] == nil {
			v[step] = &helmValue{below: helmValues{}}
		}
		v = v[step].below
	}
	last := steps[len(steps)-1]
	if text, isText := now.(string); isText && !onlyText(p.Schema) {
		now = numberIn(text)
	}
	before, known := v[last]
	if known && before.value != now {
		return fmt.Errorf("%s is %v here, and %v in another object", p.Key, now, before.value)
	}
	if !known {
		v[last] = &helmValue{value: now, parameter: p, parts: map[string]bool{}}
	}
	v[last].parts[part] = true
	return nil
}

// numberIn is the number that a text is the usual spelling of, or the text itself.
func numberIn(text string) any {
	var number json.Number
	if json.Unmarshal([]byte(text), &number) != nil || string(number) != text || strings.HasPrefix(text, `"`) {
		return text
	}
	if whole, err := number.Int64(); err == nil {
		return whole
	}
	if broken, err := number.Float64(); err == nil && string(mustJSON(broken)) == text {
		return broken
	}
	return text
}

// walk visits all parameters in order, with the keys that lead to them.
func (v helmValues) walk(above []string, visit func(steps []string, at *helmValue)) {
	for _, key := range slices.Sorted(maps.Keys(v)) {
		steps := append(slices.Clone(above), key)
		visit(steps, v[key])
		v[key].below.walk(steps, visit)
	}
}

// valuesFile is values.yaml, each value after what it means.
func (c *helmChart) valuesFile() []byte {
	var b bytes.Buffer
	fmt.Fprintf(&b, "# Values of %s. What is not here is the document's to say, from which this chart was generated.\n", c.name)
	known := scalars{}
	c.values.walk(nil, func(steps []string, at *helmValue) {
		indent := strings.Repeat("  ", len(steps)-1)
		if len(steps) == 1 {
			b.WriteByte('\n')
		}
		key := known.of(steps[len(steps)-1])
		if at.below != nil {
			fmt.Fprintf(&b, "%s%s:\n", indent, key)
			return
		}
		fmt.Fprintf(&b, "%s# -- %s\n%s%s: %s\n", indent, at.parameter.Doc, indent, key, known.of(at.value))
	})
	for _, h := range c.hatches() {
		fmt.Fprintf(&b, "\n# -- %s\n%s\n", h.doc, h.text)
	}
	return b.Bytes()
}

// hatch is a value that every chart has, besides those of the document.
type hatch struct {
	key, doc string
	text     string         // the key and its default, in values.yaml
	schema   map[string]any // of the value
}

// hatches are for what no document can say in advance.
func (c *helmChart) hatches() []hatch {
	mirror := map[string]any{"type": "string", "pattern": `^$|^[A-Za-z0-9][A-Za-z0-9.-]*(:[0-9]{1,5})?(/[a-z0-9][a-z0-9._-]*)*/?$`}
	return []hatch{
		{"components", "What of the platform the release has: each part may be left out.", c.componentsText(), c.componentsSchema()},
		{"imageRegistry", "A registry that has all images, as their own registries have them; quay.io/acme/mpi:1 becomes MIRROR/acme/mpi:1.", `imageRegistry: ""`, mirror},
		{"commonLabels", "Labels for all objects, besides their own.", "commonLabels: {}", c.addedSchema("labels")},
		{"commonAnnotations", "Annotations for all objects, besides their own.", "commonAnnotations: {}", c.addedSchema("annotations")},
		{"extraObjects", "More objects, as YAML or as text with templates.", "extraObjects: []", map[string]any{
			"type": "array", "items": map[string]any{"type": []string{"object", "string"}},
		}},
		{"global", "What a chart that has this one as a part tells all its parts; of it, imageRegistry is read here.", "global: {}", map[string]any{"type": "object", "properties": map[string]any{"imageRegistry": mirror}}},
	}
}

// componentsText says what each part is, by its objects.
func (c *helmChart) componentsText() string {
	if len(c.parts) == 0 {
		return "components: {}"
	}
	lines := []string{"components:"}
	for _, name := range c.components() {
		var kinds []string
		for _, kind := range slices.Sorted(maps.Keys(c.parts[name].kinds)) {
			kinds = append(kinds, fmt.Sprintf("%s (%d)", kind, c.parts[name].kinds[kind]))
		}
		lines = append(lines, "  # -- "+strings.Join(kinds, ", "), "  "+name+": true")
	}
	return strings.Join(lines, "\n")
}

// readme is README.md, with a table of all values.
func (c *helmChart) readme() []byte {
	var b bytes.Buffer
	fmt.Fprintf(&b, "# %s\n\n%s.\n\n", c.name, c.description())
	fmt.Fprintf(&b, "```shell\nhelm install %s . --namespace default\n```\n\n", c.name)
	b.WriteString("Kubeflow Trainer and whatever else the objects are for has to be in the cluster first: the chart holds none of their CRDs. " +
		"The release's own namespace holds nothing of the platform.\n\n")
	b.WriteString("| value | default | meaning |\n|---|---|---|\n")
	c.values.walk(nil, func(steps []string, at *helmValue) {
		if at.below == nil {
			fmt.Fprintf(&b, "| `%s` | `%s` | %s |\n", shownPath(steps), mustJSON(at.value), at.parameter.Doc)
		}
	})
	for _, name := range c.components() {
		fmt.Fprintf(&b, "| `components.%s` | `true` | Whether the release has %s |\n", name, strings.Join(slices.Sorted(maps.Keys(c.parts[name].kinds)), ", "))
	}
	for _, h := range c.hatches()[1:] {
		_, value, _ := strings.Cut(h.text, ": ")
		fmt.Fprintf(&b, "| `%s` | `%s` | %s |\n", h.key, value, strings.TrimSuffix(h.doc, "."))
	}
	return b.Bytes()
}

// shownPath is how --set names a value: a name with dots has them escaped.
func shownPath(steps []string) string {
	shown := make([]string, len(steps))
	for i, step := range steps {
		shown[i] = strings.ReplaceAll(step, ".", `\.`)
	}
	return strings.Join(shown, ".")
}

func mustJSON(value any) []byte {
	text, _ := json.Marshal(value) // plain data always marshals
	return text
}
