package bundles

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/trainyard/trainyard/api/v1alpha1"
	"github.com/trainyard/trainyard/generator/object"
)

type templateField struct {
	path       []any
	expression string // in Helm's template language, without braces
}

func (c *helmChart) addObjects(ctx context.Context) error {
	for o := range c.Objects.All() {
		if err := ctx.Err(); err != nil {
			return err
		}
		name := componentFolder(o)
		if c.components[name] == nil {
			c.components[name] = &helmComponent{kinds: map[string]int{}}
		}
		c.components[name].kinds[o.ID().Kind]++
		text, err := c.object(o)
		if err != nil {
			return fmt.Errorf("writing %s as a template: %w", o.ID(), err)
		}
		c.components[name].add(text, c.includeCondition(o))
	}
	return nil
}

// includeCondition returns the template condition under which a release contains an object, or an empty string if there
// is no condition. An object has a condition only if it is a RoleBinding or a ClusterRoleBinding, and the tenant of the
// object has an admission policy. The condition is true if the tenant's ValidatingAdmissionPolicyBinding already exists
// in the cluster. Helm creates RoleBindings before admission policies, so without the condition, a new tenant would
// have rights before the tenant's admission policy is in force. If Helm has no access to a cluster, as in the command
// "helm template", the condition is true. The condition reads the template variable $inForce. If the template of a
// component contains this condition, the template sets $inForce in a line above all objects.
func (c *helmChart) includeCondition(o object.Object) string {
	tenant := o.Label(v1alpha1.TenantLabel)
	if !o.ID().GrantsRights() || !c.restricted[tenant] {
		return ""
	}
	return fmt.Sprintf(`or (eq $inForce "*") (contains " %s " $inForce)`, v1alpha1.TenantObjectName(tenant))
}

// add adds the text of an object to the component's template. If the argument "condition" is not empty, the template
// includes the object only if the condition is true.
func (c *helmComponent) add(text, condition string) {
	if condition != "" {
		c.conditional = true
		text = "{{- if " + condition + " }}\n" + string(separator) + text + "{{- end }}\n"
	} else {
		text = string(separator) + text
	}
	c.content = append(c.content, []byte(text))
}

// publishedComponents maps renamed CUE folders to their former names. After a CUE folder is renamed, its component
// keeps the former name of the folder, because users set the former name in the values of existing releases.
var publishedComponents = map[string]string{"monitoring": "observe"}

// componentFolder returns the name of the component to which an object belongs. The name of the component is the name of the
// folder with the CUE file that defines the object. For example, an object that policies/quota/resource_quota.cue defines
// belongs to the component "quota".
func componentFolder(o object.Object) string {
	folder := path.Base(path.Dir(o.Origin().Definition))
	return cmp.Or(publishedComponents[folder], folder)
}

func (c *helmChart) template(name string) Content {
	start := fmt.Appendf(nil, "{{- if .Values.components.%s }}\n", name)
	if c.components[name].conditional {
		start = fmt.Appendf(start, "{{- $inForce := include %q . }}\n", c.uniqueName()+".inForce")
	}
	return slices.Concat(Content{start}, c.components[name].content, Content{[]byte("{{- end }}\n")})
}

func (c *helmChart) object(o object.Object) (string, error) {
	fields := o.Fields()
	filled, err := c.templateFields(o, fields)
	if err != nil {
		return "", err
	}
	paths := make([][]any, len(filled))
	for i, f := range filled {
		paths[i] = f.path
	}
	l := c.renderer.layOut(fields, paths)
	var text []byte
	for i, field := range l.values {
		text = fmt.Appendf(append(text, escapeTemplate(l.texts[i])...), "{{ %s }}", filled[field].expression)
	}
	text = append(text, escapeTemplate(l.texts[len(l.values)])...)
	c.noteOwnKeys(fields)
	return c.withMetadata(string(text), keepAnnotation(o))
}

// escapeTemplate escapes text that Helm would take for a template. For example, legends of Grafana dashboards
// contain double braces.
func escapeTemplate(text []byte) []byte {
	return bytes.ReplaceAll(text, []byte("{{"), []byte(`{{ "{{" }}`))
}

// keepAnnotation returns an annotation that makes Helm keep an object when a release is deleted. For objects that
// Helm may delete, the result of keepAnnotation is empty. Helm must keep namespaces, because they contain objects
// of other owners. Helm must also keep objects with the label trainyard.dev/keep, because several platforms can
// share these objects.
func keepAnnotation(o object.Object) string {
	if o.ID().Kind == "Namespace" && o.ID().Group == "" || o.Label(v1alpha1.KeepLabel) == "true" {
		return "    helm.sh/resource-policy: keep\n"
	}
	return ""
}

// metadataText matches the lines from the key "metadata" to the key "name" in the YAML of an object. Only
// annotations and labels may stand between the two keys. The pattern captures the annotations and the labels.
var metadataText = regexp.MustCompile(`(?ms)^metadata:\n(?:^  annotations:\n(.*?))?(?:^  labels:\n(.*?))?^  name:`)

// withMetadata adds an annotation to the text of an object, and also adds templates for the values commonLabels and
// commonAnnotations.
func (c *helmChart) withMetadata(text, annotation string) (string, error) {
	m := metadataText.FindStringSubmatch(text)
	if m == nil {
		return "", errors.New("metadata: want only metadata.annotations and metadata.labels before metadata.name")
	}
	with := "metadata:\n" + c.metadataBlock("annotations", m[1]+annotation) + c.metadataBlock("labels", m[2]) + "  name:"
	return strings.Replace(text, m[0], with, 1), nil
}

// metadataBlock returns a template for the mapping "labels" or "annotations" of an object. The template adds the
// entries in the chart's values to the object's own entries. If there are no entries, the template renders nothing.
func (c *helmChart) metadataBlock(field, own string) string {
	added, head := fmt.Sprintf("include %q .", c.uniqueName()+"."+field), "  "+field+":\n"
	if own == "" {
		return "  {{- with " + added + " }}\n" + head + "    {{- . | nindent 4 }}\n  {{- end }}\n"
	}
	return head + "    {{- with " + added + " }}{{ . | nindent 4 }}{{ end }}\n" + own
}

// noteOwnKeys records the keys of an object's own labels and annotations. The chart has the Helm values commonLabels
// and commonAnnotations. The chart's schema does not allow a recorded label key in commonLabels, or a recorded
// annotation key in commonAnnotations.
func (c *helmChart) noteOwnKeys(fields map[string]any) {
	for field, keys := range c.ownKeys {
		own, _ := object.At(fields, []any{"metadata", field}).(map[string]any)
		for key := range own {
			keys[key] = true
		}
	}
}

// templateFields returns the fields that an object's template computes: the parameters, and the images of all
// containers. The template computes the names of images, because a release can load images from a mirror. In
// addition, templateFields adds the parameters to the chart's values.
func (c *helmChart) templateFields(o object.Object, fields map[string]any) ([]templateField, error) {
	var filled []templateField
	for _, p := range o.Parameters() {
		value := object.At(fields, p.Path)
		if err := c.values.add(p, value, componentFolder(o)); err != nil {
			return nil, err
		}
		filled = append(filled, templateField{p.Path, c.valueExpression(p, value)})
	}
	for _, at := range findImages(fields, nil) {
		image, _ := object.At(fields, at).(string)
		c.images[image] = true
		if !slices.ContainsFunc(filled, func(f templateField) bool { return slices.Equal(f.path, at) }) {
			filled = append(filled, templateField{at, fmt.Sprintf("include %q (list . %q)", c.uniqueName()+".image", image)})
		}
	}
	return filled, nil
}

// findImages returns the paths of all container images in decoded JSON. The order of the paths varies.
func findImages(node any, at []any) (found [][]any) {
	if n := len(at); n > 2 && at[n-1] == "image" && (at[n-3] == "containers" || at[n-3] == "initContainers") {
		return [][]any{at}
	}
	switch node := node.(type) {
	case map[string]any:
		for key, value := range node {
			found = append(found, findImages(value, append(slices.Clone(at), key))...)
		}
	case []any:
		for i, item := range node {
			found = append(found, findImages(item, append(slices.Clone(at), i))...)
		}
	}
	return found
}

// valueExpression returns a template expression for a parameter. If the value in the object is a string, the expression
// evaluates to a string.
func (c *helmChart) valueExpression(p object.Parameter, value any) string {
	reference := valueReference(splitKeys(p.Key))
	_, isText := value.(string)
	switch {
	case isText && strings.HasSuffix(p.Key, ".image"):
		return fmt.Sprintf("include %q (list . %s)", c.uniqueName()+".image", reference)
	case isText && schemaType(p) == "string":
		return reference + " | quote"
	case isText:
		return fmt.Sprintf("include %q %s", c.uniqueName()+".text", reference)
	}
	return reference + " | toJson"
}

// schemaType returns the type that a parameter's schema admits, or an empty string if the schema admits several types.
func schemaType(p object.Parameter) string {
	var schema struct{ Type string }
	if json.Unmarshal(p.Schema, &schema) != nil {
		return ""
	}
	return schema.Type
}

var identifier = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

// valueReference returns a template expression for a value. If a key is not an identifier, the expression calls the
// function "index".
func valueReference(keys []string) string {
	reference := ".Values"
	for _, key := range keys {
		if identifier.MatchString(key) {
			reference += "." + key
		} else {
			reference = fmt.Sprintf("(index %s %q)", reference, key)
		}
	}
	return reference
}
