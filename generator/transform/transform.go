// Package transform changes labels, images and Argo CD annotations of objects that trainyard did not generate. All text
// of an object outside of labels, images and annotations stays the same, including comments and the order of keys. If
// the same changes are applied a second time, the objects stay the same.
package transform

import (
	"fmt"
	"maps"
	"path"
	"slices"

	"sigs.k8s.io/kustomize/kyaml/resid"
	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/trainyard/trainyard/generator/problem"
)

// Changes holds the changes that a Transformer document requests. The file transform.cue computes the fields of
// Changes.
type Changes struct {
	Labels        map[string]string   `json:"labels"`
	DefaultLabels map[string]string   `json:"defaultLabels"` // set if the object does not have the label
	SharedLabel   string              `json:"sharedLabel"`   // Apply adds no labels to an object with this label
	Digests       map[string]string   `json:"digests"`       // by image
	Mirrors       map[string]string   `json:"mirrors"`       // by registry, or by folder in a registry
	Kinds         map[string]Kind     `json:"kinds"`
	ImageLists    map[string][]string `json:"imageLists"` // maps the key of a list to the image's path in an item
	ImageFields   []ImageField        `json:"imageFields"`
}

// Kind contains the annotations for objects of one kind.
type Kind struct {
	Group       string            `json:"group"`
	Annotations map[string]string `json:"annotations"` // set if the object does not have the annotation
}

// ImageField describes a field that names an image. The field belongs to objects of one kind.
type ImageField struct {
	Group     string   `json:"group"`
	Kind      string   `json:"kind"`
	Namespace string   `json:"namespace"` // empty for any namespace
	Path      []string `json:"path"`      // patterns of path.Match
}

var (
	missingDigest = problem.Rule{Name: "image-without-digest", Doc: "An image has a digest if the Transformer lists digests for its repository"}
	unusedDigest  = problem.Rule{Name: "unused-digest", Doc: "Each digest in the Transformer belongs to an image that an object uses"}
)

// Problem is a problem in one object.
type Problem struct {
	Object int // index in the objects that Apply changes
	problem.Problem
}

// Apply makes the requested changes in the given objects. Each object must be a mapping, and its metadata, labels and
// annotations must be mappings too. Apply returns the problems of the objects, and a note for each image in
// spec.images.digests that no object uses.
func (c Changes) Apply(objects []*yaml.RNode) (wrong []Problem, notes problem.List) {
	images := newRenamer(c)
	for i, object := range objects {
		c.label(object)
		c.annotate(object)
		for _, p := range c.renameImages(object, images) {
			wrong = append(wrong, Problem{i, p})
		}
	}
	for _, image := range slices.Sorted(maps.Keys(images.unused)) {
		notes = append(notes, problem.Problem{Rule: unusedDigest, Path: problem.Path([]string{"spec", "images", "digests", image}), Message: "no object uses this image"})
	}
	return wrong, notes
}

func (c Changes) label(object *yaml.RNode) {
	if _, shared := object.GetLabels()[c.SharedLabel]; shared {
		return
	}
	for _, key := range slices.Sorted(maps.Keys(c.Labels)) {
		setMetadata(object, yaml.LabelsField, key, c.Labels[key])
	}
	setMissing(object, yaml.LabelsField, object.GetLabels(), c.DefaultLabels)
}

func (c Changes) annotate(object *yaml.RNode) {
	group, _ := resid.ParseGroupVersion(object.GetApiVersion())
	if kind, known := c.Kinds[object.GetKind()]; known && kind.Group == group {
		setMissing(object, yaml.AnnotationsField, object.GetAnnotations(), kind.Annotations)
	}
}

func setMissing(object *yaml.RNode, field string, present, values map[string]string) {
	for _, key := range slices.Sorted(maps.Keys(values)) {
		if _, has := present[key]; !has {
			setMetadata(object, field, key, values[key])
		}
	}
}

// setMetadata sets a label or an annotation. If the old value has a comment, the setters of kyaml and kustomize lose
// this comment. These setters also omit the quotes that YAML 1.1 needs around some keys and values. Therefore
// setMetadata does not use these setters (docs/design/0005-libraries.md).
func setMetadata(object *yaml.RNode, field, key, value string) {
	mapping := object
	for _, name := range []string{yaml.MetadataField, field} {
		if f := mapping.Field(name); f != nil && yaml.IsMissingOrNull(f.Value) {
			*f.Value.YNode() = yaml.Node{Kind: yaml.MappingNode} // LookupCreate stops at null
		}
		var err error
		if mapping, err = mapping.Pipe(yaml.LookupCreate(yaml.MappingNode, name)); err != nil {
			return // the object is invalid, and every API server refuses it
		}
	}
	text, old := quotedNode(value), mapping.Field(key)
	if old == nil {
		mapping.YNode().Content = append(mapping.YNode().Content, quotedNode(key), text)
		return
	}
	node := old.Value.YNode()
	if yaml.IsYNodeString(node) && node.Value == value {
		return
	}
	text.HeadComment, text.LineComment, text.FootComment = node.HeadComment, node.LineComment, node.FootComment
	*node = *text
}

// quotedNode returns a YAML node for a string. The string is in quotes if YAML 1.1 or 1.2 would otherwise read it as a
// number, a boolean or another type.
func quotedNode(value string) *yaml.Node {
	n := yaml.NewStringRNode(value).YNode()
	if yaml.IsYaml1_1NonString(n) {
		n.Style = yaml.DoubleQuotedStyle
	}
	return n
}

func (c Changes) renameImages(object *yaml.RNode, images *renamer) problem.List {
	var wrong problem.List
	rename := func(at []string, image *yaml.Node) {
		name, err := images.rename(image.Value)
		if err != nil {
			wrong = append(wrong, problem.Problem{Rule: missingDigest, Path: problem.Path(at), Message: err.Error()})
		}
		image.Value = name
	}
	c.visitImageLists(object.YNode(), nil, rename)
	group, _ := resid.ParseGroupVersion(object.GetApiVersion())
	for _, f := range c.ImageFields {
		if f.Group == group && f.Kind == object.GetKind() && (f.Namespace == "" || f.Namespace == object.GetNamespace()) {
			visitStrings(object.YNode(), nil, f.Path, rename)
		}
	}
	return wrong
}

// visitImageLists finds the lists of containers and of volumes at any depth of a YAML tree. It calls the function
// "visit" for each image in these lists.
func (c Changes) visitImageLists(n *yaml.Node, at []string, visit func([]string, *yaml.Node)) {
	if n.Kind == yaml.SequenceNode {
		for i, item := range n.Content {
			c.visitImageLists(item, append(slices.Clone(at), fmt.Sprint(i)), visit)
		}
		return
	}
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, value := n.Content[i].Value, n.Content[i+1]
		below := append(slices.Clone(at), key)
		if inner, ok := c.ImageLists[key]; ok && value.Kind == yaml.SequenceNode {
			for i, item := range value.Content {
				visitStrings(item, append(slices.Clone(below), fmt.Sprint(i)), inner, visit)
			}
		}
		c.visitImageLists(value, below, visit)
	}
}

// visitStrings calls the function "visit" for each string whose path matches the argument "patterns". The argument
// "patterns" contains one pattern for each key of the path.
func visitStrings(n *yaml.Node, at, patterns []string, visit func([]string, *yaml.Node)) {
	if len(patterns) == 0 {
		if yaml.IsYNodeString(n) {
			visit(at, n)
		}
		return
	}
	if n.Kind != yaml.MappingNode {
		return
	}
	for i := 0; i+1 < len(n.Content); i += 2 {
		if ok, _ := path.Match(patterns[0], n.Content[i].Value); ok { // all patterns in transform.cue are valid
			visitStrings(n.Content[i+1], append(slices.Clone(at), n.Content[i].Value), patterns[1:], visit)
		}
	}
}
