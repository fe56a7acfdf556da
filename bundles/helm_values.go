package bundles

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/trainyard/trainyard/generator/object"
)

// helmValues is the tree of a chart's values. The path of a parameter in this tree is the path of its
// field in the document, without the first key, which is "spec".
type helmValues map[string]*helmValue

type helmValue struct {
	children   helmValues // nil for a parameter
	value      any
	parameter  object.Parameter
	components map[string]bool // the components whose objects use the parameter

	minimum, maximum any // bounds in addition to the parameter's schema; nil if there is no bound
}

// splitKeys returns the keys in a path of the document, without the first key, which is "spec". Keys that contain
// dots are quoted in the path, as problem.Path describes.
func splitKeys(path string) []string {
	var keys []string
	for rest := strings.TrimPrefix(path, "spec."); rest != ""; {
		if quoted, err := strconv.QuotedPrefix(rest); err == nil {
			key, _ := strconv.Unquote(quoted)
			keys, rest = append(keys, key), strings.TrimPrefix(rest[len(quoted):], ".")
			continue
		}
		var key string
		key, rest, _ = strings.Cut(rest, ".")
		keys = append(keys, key)
	}
	return keys
}

// valueAt returns the value at a path of the document, or nil if there is no value at this path.
func (v helmValues) valueAt(path string) (value *helmValue) {
	for _, key := range splitKeys(path) {
		if value = v[key]; value == nil {
			return nil
		}
		v = value.children
	}
	return value
}

// add adds a parameter to the chart's values. The argument "value" is the parameter's value in an object of the
// given component. If the object contains a number as a string, and the parameter's schema allows numbers, the
// method converts the string to a number.
func (v helmValues) add(p object.Parameter, value any, component string) error {
	keys := splitKeys(p.Key)
	last := len(keys) - 1
	for _, key := range keys[:last] {
		if v[key] == nil {
			v[key] = &helmValue{children: helmValues{}}
		}
		v = v[key].children
	}
	if text, isText := value.(string); isText && schemaType(p) != "string" {
		value = parseNumber(text)
	}
	known := v[keys[last]]
	if known == nil {
		known = &helmValue{value: value, parameter: p, components: map[string]bool{}}
		v[keys[last]] = known
	}
	if known.value != value {
		return fmt.Errorf("the Helm value %s is %v in this object, but %v in another object", p.Key, value, known.value)
	}
	known.components[component] = true
	return nil
}

// isWhole reports whether the schema of a parameter allows only whole numbers. A quantity such as 4Gi is not a whole
// number.
func (v *helmValue) isWhole() bool { return v != nil && schemaType(v.parameter) == "integer" }

// parseNumber converts a string such as "10" or "0.5" to a number. parseNumber returns other strings,
// such as "010", unchanged.
func parseNumber(text string) any {
	if whole, err := strconv.ParseInt(text, 10, 64); err == nil && strconv.FormatInt(whole, 10) == text {
		return whole
	}
	if float, err := strconv.ParseFloat(text, 64); err == nil && string(mustJSON(float)) == text {
		return float
	}
	return text
}

// walk calls the function "visit" for all values, sorted by key. In each call, the argument "keys" is the path of the
// value.
func (v helmValues) walk(above []string, visit func(keys []string, value *helmValue)) {
	for _, key := range slices.Sorted(maps.Keys(v)) {
		keys := append(slices.Clone(above), key)
		visit(keys, v[key])
		v[key].children.walk(keys, visit)
	}
}

func (c *helmChart) valuesFile() []byte {
	var b bytes.Buffer
	fmt.Fprintf(&b, "# Values of %s. All other settings are in the document from which this chart was generated.\n", c.uniqueName())
	c.values.walk(nil, func(keys []string, v *helmValue) {
		indent := strings.Repeat("  ", len(keys)-1)
		if len(keys) == 1 {
			b.WriteByte('\n')
		}
		key := c.renderer.scalars.of(keys[len(keys)-1])
		if v.children != nil {
			fmt.Fprintf(&b, "%s%s:\n", indent, key)
			return
		}
		fmt.Fprintf(&b, "%s# -- %s\n%s%s: %s\n", indent, v.parameter.Doc, indent, key, c.renderer.scalars.of(v.value))
	})
	for _, s := range c.standardValues() {
		fmt.Fprintf(&b, "\n# -- %s\n%s\n", s.doc, s.text)
	}
	return b.Bytes()
}

// standardValue is a value that every chart has, in addition to the document's parameters.
type standardValue struct {
	key, doc string
	text     string         // the YAML for values.yaml: the key and the default value
	schema   map[string]any // the JSON Schema of the value
}

// standardValues returns the values that every chart has, such as the address of an image mirror. These values are
// often unknown until installation.
func (c *helmChart) standardValues() []standardValue {
	mirror := map[string]any{"type": "string", "pattern": `^$|^[A-Za-z0-9][A-Za-z0-9.-]*(:[0-9]{1,5})?(/[a-z0-9][a-z0-9._-]*)*/?$`}
	return []standardValue{
		{"components", "The components that the release includes.", c.componentsText(), c.componentsSchema()},
		{"imageRegistry", "A registry that mirrors all images under their own paths; quay.io/acme/mpi:1 becomes MIRROR/acme/mpi:1.", `imageRegistry: ""`, mirror},
		{"commonLabels", "Labels for all objects, in addition to their own.", "commonLabels: {}", c.addedSchema("labels")},
		{"commonAnnotations", "Annotations for all objects, in addition to their own.", "commonAnnotations: {}", c.addedSchema("annotations")},
		{"extraObjects", "More objects, as YAML or as text with templates.", "extraObjects: []", map[string]any{
			"type": "array", "items": map[string]any{"type": []string{"object", "string"}},
		}},
		{"global", "Values that a parent chart sets for all of its dependencies. This chart reads only imageRegistry.", "global: {}", map[string]any{"type": "object", "properties": map[string]any{"imageRegistry": mirror}}},
	}
}

// componentsText returns the YAML of the value "components", with comments that list the objects of each component.
func (c *helmChart) componentsText() string {
	if len(c.components) == 0 {
		return "components: {}"
	}
	lines := []string{"components:"}
	for _, name := range c.componentNames() {
		var kinds []string
		for _, kind := range slices.Sorted(maps.Keys(c.components[name].kinds)) {
			kinds = append(kinds, fmt.Sprintf("%s (%d)", kind, c.components[name].kinds[kind]))
		}
		lines = append(lines, "  # -- "+strings.Join(kinds, ", "), "  "+name+": true")
	}
	return strings.Join(lines, "\n")
}

func (c *helmChart) readme() []byte {
	var b bytes.Buffer
	fmt.Fprintf(&b, "# %s\n\n%s.\n\n", c.uniqueName(), c.description())
	fmt.Fprintf(&b, "```shell\nhelm install %s . --namespace default\n```\n\n", c.uniqueName())
	b.WriteString("First install Kubeflow Trainer and all other projects whose CRDs the objects of this chart need, because the chart contains no CRDs. " +
		"Install the release in a namespace that contains none of these objects.\n\n")
	b.WriteString("| value | default | meaning |\n|---|---|---|\n")
	c.values.walk(nil, func(keys []string, v *helmValue) {
		if v.children == nil {
			fmt.Fprintf(&b, "| `%s` | `%s` | %s |\n", setFlag(keys), mustJSON(v.value), v.parameter.Doc)
		}
	})
	for _, name := range c.componentNames() {
		fmt.Fprintf(&b, "| `components.%s` | `true` | Whether the release includes %s |\n", name, strings.Join(slices.Sorted(maps.Keys(c.components[name].kinds)), ", "))
	}
	for _, s := range c.standardValues()[1:] {
		_, value, _ := strings.Cut(s.text, ": ")
		fmt.Fprintf(&b, "| `%s` | `%s` | %s |\n", s.key, value, strings.TrimSuffix(s.doc, "."))
	}
	return b.Bytes()
}

// setFlag returns the name of a chart value as Helm's flag --set expects it. Dots in keys are escaped, as the flag requires.
func setFlag(keys []string) string {
	escaped := make([]string, len(keys))
	for i, key := range keys {
		escaped[i] = strings.ReplaceAll(key, ".", `\.`)
	}
	return strings.Join(escaped, ".")
}

// mustJSON returns a value as JSON. The value must have a type that json.Marshal supports.
func mustJSON(value any) []byte {
	text, _ := json.Marshal(value)
	return text
}
