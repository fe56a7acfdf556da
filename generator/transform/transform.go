// Package transform changes objects that somebody else made: their labels, the images of their
// containers, and what they say to Argo CD. What it is not asked to change stays as it is written,
// comments and order of keys included, and what it has changed it does not change again.
package transform

import (
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"go.yaml.in/yaml/v4"

	"github.com/trainyard/trainyard/generator/problem"
)

// Changes are what is asked for (generator/transforms).
type Changes struct {
	Labels    map[string]string   `json:"labels"`
	OwnLabels map[string]string   `json:"ownLabels"` // of objects that have none of that name
	Shared    string              `json:"shared"`    // a label: what has it gets no labels
	Digests   map[string]string   `json:"digests"`   // by image
	Mirrors   map[string]string   `json:"mirrors"`   // by the registry or folder that is mirrored
	Kinds     map[string]Kind     `json:"kinds"`
	Lists     map[string][]string `json:"lists"`  // whose items name an image, by their key, and where
	Places    []Place             `json:"places"` // where else images are named
}

// Kind is how objects of a kind are annotated.
type Kind struct {
	Group       string            `json:"group"`
	Annotations map[string]string `json:"annotations"`
}

// Place is where objects of a kind name an image.
type Place struct {
	Group     string   `json:"group"`
	Kind      string   `json:"kind"`
	Namespace string   `json:"namespace"` // empty for any
	Path      []string `json:"path"`      // a key may have a * in it
}

// Rules that are found here.
var (
	unpinned = problem.Rule{Name: "image-without-digest", Doc: "An image whose repository has digests has one itself"}
	unused   = problem.Rule{Name: "digest-of-nothing", Doc: "A digest is that of an image of some object"}
)

// Problem is what is wrong with an object.
type Problem struct {
	Object int // its index
	problem.Problem
}

// Apply makes the changes to objects, each of which is a mapping. It returns what is wrong with
// them, and which of the digests nobody uses.
func (c Changes) Apply(objects []*yaml.Node) (wrong []Problem, notes problem.List) {
	pins := newPins(c)
	for i, object := range objects {
		c.label(object)
		c.annotate(object)
		for _, p := range c.pin(object, pins) {
			wrong = append(wrong, Problem{i, p})
		}
	}
	for _, image := range slices.Sorted(maps.Keys(pins.unused)) {
		notes = append(notes, problem.Problem{Rule: unused, Path: problem.Path([]string{"spec", "images", "digests", image}), Message: "no object names this image"})
	}
	return wrong, notes
}

func (c Changes) label(object *yaml.Node) {
	if follow(object, "metadata", "labels", c.Shared) != nil {
		return
	}
	for _, key := range slices.Sorted(maps.Keys(c.Labels)) {
		set(object, c.Labels[key], "metadata", "labels", key)
	}
	complete(object, "labels", c.OwnLabels)
}

// annotate tells Argo CD what the object does not tell it.
func (c Changes) annotate(object *yaml.Node) {
	group, kind := groupKind(object)
	if about, known := c.Kinds[kind]; known && about.Group == group {
		complete(object, "annotations", about.Annotations)
	}
}

// complete adds labels or annotations that an object does not have.
func complete(object *yaml.Node, field string, values map[string]string) {
	for _, key := range slices.Sorted(maps.Keys(values)) {
		if follow(object, "metadata", field, key) == nil {
			set(object, values[key], "metadata", field, key)
		}
	}
}

// pin gives all images of an object the names that they should have.
func (c Changes) pin(object *yaml.Node, pins *pins) problem.List {
	var wrong problem.List
	rename := func(at []string, image *yaml.Node) {
		name, err := pins.rename(image.Value)
		if err != nil {
			wrong = append(wrong, problem.Problem{Rule: unpinned, Path: problem.Path(at), Message: err.Error()})
		}
		if name != image.Value {
			image.Value = name
		}
	}
	c.inLists(object, nil, rename)
	group, kind := groupKind(object)
	for _, p := range c.Places {
		if p.Group == group && p.Kind == kind && (p.Namespace == "" || p.Namespace == textAt(object, "metadata", "namespace")) {
			each(object, nil, p.Path, rename)
		}
	}
	return wrong
}

// inLists finds images in lists of containers and the like.
func (c Changes) inLists(n *yaml.Node, at []string, found func([]string, *yaml.Node)) {
	for key, value := range fields(n) {
		below := append(slices.Clone(at), key)
		if inner, ok := c.Lists[key]; ok && value.Kind == yaml.SequenceNode {
			for i, item := range value.Content {
				each(item, append(slices.Clone(below), fmt.Sprint(i)), inner, found)
			}
		}
		c.inLists(value, below, found)
	}
	if n.Kind == yaml.SequenceNode {
		for i, item := range n.Content {
			c.inLists(item, append(slices.Clone(at), fmt.Sprint(i)), found)
		}
	}
}

// each finds the texts at a path whose keys may have a * in them.
func each(n *yaml.Node, at, steps []string, found func([]string, *yaml.Node)) {
	if len(steps) == 0 {
		if isText(n) {
			found(at, n)
		}
		return
	}
	for key, value := range fields(n) {
		if ok, _ := path.Match(steps[0], key); ok { // patterns are ours
			each(value, append(slices.Clone(at), key), steps[1:], found)
		}
	}
}

// groupKind is what an object says it is.
func groupKind(object *yaml.Node) (group, kind string) {
	group, _, grouped := strings.Cut(textAt(object, "apiVersion"), "/")
	if !grouped {
		group = ""
	}
	return group, textAt(object, "kind")
}
