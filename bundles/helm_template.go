package bundles

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/trainyard/trainyard/generator/object"
)

// hole is a place of an object that a template fills in.
type hole struct {
	path       []any
	expression string // in Helm's language, without braces
}

// addObjects writes each object's text, with holes, into the template of what it is part of.
func (c *helmChart) addObjects(ctx context.Context, b Bundle) error {
	for o := range b.Objects.All() {
		if err := ctx.Err(); err != nil {
			return err
		}
		part := c.part(componentOf(o))
		part.kinds[o.ID().Kind]++
		text, err := c.object(o)
		if err != nil {
			return fmt.Errorf("writing %s as a template: %w", o.ID(), err)
		}
		part.content = append(part.content, separator, text)
	}
	return nil
}

func (c *helmChart) part(name string) *helmPart {
	if c.parts[name] == nil {
		c.parts[name] = &helmPart{kinds: map[string]int{}}
	}
	return c.parts[name]
}

// componentOf is the concern that an object is of: the folder of the CUE that made it, such as quota
// of policies/quota/resource_quota.cue.
func componentOf(o object.Object) string {
	return path.Base(path.Dir(o.Origin().Definition))
}

// template is that of a part of the platform, which may be left out.
func (c *helmChart) template(name string) Content {
	start := fmt.Appendf(nil, "{{- if .Values.components.%s }}\n", name)
	return slices.Concat(Content{start}, c.parts[name].content, Content{[]byte("{{- end }}\n")})
}

// object is the text of an object with holes.
func (c *helmChart) object(o object.Object) ([]byte, error) {
	fields := o.Fields()
	holes, err := c.holes(o, fields)
	if err != nil {
		return nil, err
	}
	paths := make([][]any, len(holes))
	for i, h := range holes {
		paths[i] = h.path
	}
	w := &writer{renderer: c.renderer}
	w.mapping(fields, 0, newPlaces(paths))
	var text []byte
	start := 0
	for i, cut := range w.cuts {
		text = append(text, escaped(w.text[start:cut])...)
		text = fmt.Appendf(text, "{{ %s }}", holes[w.order[i]].expression)
		start = cut
	}
	text = append(text, escaped(w.text[start:])...)
	c.take(fields)
	return withMetadata(text, c.name, keepWords(o)), nil
}

// escaped text goes through Helm as it is: legends of dashboards have braces of their own.
func escaped(text []byte) []byte {
	return bytes.ReplaceAll(text, []byte("{{"), []byte(`{{ "{{" }}`))
}

// keepWords are annotations for what Helm is not to take away with a release: namespaces hold what others
// made, and what is marked to be kept belongs to several platforms.
func keepWords(o object.Object) string {
	if o.ID().Kind == "Namespace" && o.ID().Group == "" || o.Label("trainyard.dev/keep") == "true" {
		return "    helm.sh/resource-policy: keep\n"
	}
	return ""
}

// withMetadata lets labels and annotations be added to an object. Its text has its keys in order, so that
// what is in front of its name are its own.
func withMetadata(text []byte, chart, kept string) []byte {
	before, after, _ := strings.Cut(string(text), "\nmetadata:\n")
	end := 0
	if !strings.HasPrefix(after, "  name:") {
		end = strings.Index(after, "\n  name:") + 1
	}
	annotations, labels := "", after[:end]
	if strings.HasPrefix(labels, "  annotations:\n") {
		if at := strings.Index(labels, "\n  labels:\n"); at >= 0 {
			annotations, labels = labels[:at+1], labels[at+1:]
		} else {
			annotations, labels = labels, ""
		}
	}
	return []byte(before + "\nmetadata:\n" + block(chart, "annotations", annotations, kept) + block(chart, "labels", labels, "") + after[end:])
}

// block is what an object has of labels or annotations, with room for more. Where it has none, there is
// no block until there is something to hold.
func block(chart, name, own, more string) string {
	added, head := fmt.Sprintf("include %q .", chart+"."+name), "  "+name+":\n"
	own = strings.TrimPrefix(own, head) + more
	if own == "" {
		return "  {{- with " + added + " }}\n" + head + "    {{- . | nindent 4 }}\n  {{- end }}\n"
	}
	return head + "    {{- with " + added + " }}{{ . | nindent 4 }}{{ end }}\n" + own
}

// take notes which labels and annotations objects have, and nobody else may set.
func (c *helmChart) take(fields map[string]any) {
	metadata, _ := fields["metadata"].(map[string]any)
	for what, keys := range c.taken {
		own, _ := metadata[what].(map[string]any)
		for key := range own {
			keys[key] = true
		}
	}
}

// holes are those of an object: its parameters, and images besides, which may lie in a mirror.
func (c *helmChart) holes(o object.Object, fields map[string]any) ([]hole, error) {
	var holes []hole
	for _, p := range o.Parameters() {
		now := object.At(fields, p.Path)
		if err := c.values.add(p, now, componentOf(o)); err != nil {
			return nil, err
		}
		holes = append(holes, hole{p.Path, c.expression(p, now)})
	}
	for _, at := range imagesIn(fields) {
		image, _ := object.At(fields, at).(string)
		c.images[image] = true
		if !slices.ContainsFunc(holes, func(h hole) bool { return slices.Equal(h.path, at) }) {
			holes = append(holes, hole{at, fmt.Sprintf("include %q (list . %q)", c.name+".image", image)})
		}
	}
	return holes, nil
}

// imagesIn are the paths of containers' images.
func imagesIn(fields map[string]any) [][]any {
	var found [][]any
	visit(fields, nil, func(path []any, _ any) {
		if n := len(path); n > 2 && path[n-1] == "image" && (path[n-3] == "containers" || path[n-3] == "initContainers") {
			found = append(found, path)
		}
	})
	return found
}

// visit calls a function with each scalar of decoded JSON, in order, and with the path to it.
func visit(node any, path []any, call func(path []any, scalar any)) {
	below := func(step any) []any { return append(slices.Clone(path), step) }
	switch node := node.(type) {
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(node)) {
			visit(node[key], below(key), call)
		}
	case []any:
		for i, item := range node {
			visit(item, below(i), call)
		}
	default:
		call(path, node)
	}
}

// expression yields a parameter's value, as text where the object has text.
func (c *helmChart) expression(p object.Parameter, now any) string {
	value := valuePath(stepsOf(p.Key))
	_, isText := now.(string)
	switch {
	case isText && strings.HasSuffix(p.Key, ".image"):
		return fmt.Sprintf("include %q (list . %s)", c.name+".image", value)
	case isText && onlyText(p.Schema):
		return value + " | quote"
	case isText:
		return fmt.Sprintf("include %q %s", c.name+".text", value)
	}
	return value + " | toJson"
}

// onlyText tells whether a schema admits nothing but text.
func onlyText(schema json.RawMessage) bool {
	var about struct{ Type string }
	return json.Unmarshal(schema, &about) == nil && about.Type == "string"
}

var identifier = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

// valuePath is how templates call a value: names that are no identifiers are looked up.
func valuePath(steps []string) string {
	path := ".Values"
	for _, step := range steps {
		if identifier.MatchString(step) {
			path += "." + step
		} else {
			path = fmt.Sprintf("(index %s %q)", path, step)
		}
	}
	return path
}
