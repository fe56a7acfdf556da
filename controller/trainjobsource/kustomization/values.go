package kustomization

import (
	"fmt"
	"regexp"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/trainyard/trainyard/controller/trainjobsource/safeyaml"
)

// maxName is the maximum length of a name in bytes, as for names of objects in Kubernetes. The length is limited because kustomize stores
// a copy of the earlier names of an object for each transformation.
const maxName = 253

// checkValues checks the fields that change names, labels, annotations and images.
func checkValues(file string, root *yaml.Node) error {
	for _, field := range nameFields {
		value := valueOf(root, field)
		if err := checkString(file, field, value); err != nil {
			return err
		}
		if value != nil && len(value.Value) > maxName {
			return fmt.Errorf("%s:%d: %s: want at most %d characters", file, value.Line, field, maxName)
		}
	}
	for _, field := range commonFields {
		if err := checkStrings(file, field, valueOf(root, field)); err != nil {
			return err
		}
	}
	if err := checkLabels(file, root); err != nil {
		return err
	}
	return checkImages(file, root)
}

func checkLabels(file string, root *yaml.Node) error {
	labels, err := listOf(file, root, "labels", yaml.MappingNode)
	if err != nil {
		return err
	}
	for _, item := range labels {
		if err := checkKeys(file, item, labelFields, "an item of labels"); err != nil {
			return err
		}
		if err := checkStrings(file, "labels: pairs", valueOf(item, "pairs")); err != nil {
			return err
		}
	}
	return nil
}

// imageName matches names, tags and digests of images. kustomize reads the field "name" of an item of "images" as a regular expression
// and searches for it in all images, so other characters could make a build slow.
var imageName = regexp.MustCompile(`^[A-Za-z0-9._/:@-]*$`)

func checkImages(file string, root *yaml.Node) error {
	images, err := listOf(file, root, "images", yaml.MappingNode)
	if err != nil {
		return err
	}
	for _, image := range images {
		if err := checkStrings(file, "images", image); err != nil {
			return err
		}
		for _, value := range image.Content {
			if len(value.Value) > maxName || !imageName.MatchString(value.Value) {
				return fmt.Errorf("%s:%d: images: want at most %d letters, digits and . _ / : @ -", file, value.Line, maxName)
			}
		}
	}
	return nil
}

// checkStrings checks that all values of a mapping are strings.
func checkStrings(file, where string, mapping *yaml.Node) error {
	if mapping == nil || mapping.Kind != yaml.MappingNode {
		return nil // kustomize ignores an empty field, and reports other values
	}
	for i := 0; i+1 < len(mapping.Content); i += 2 {
		if err := checkString(file, where+": "+mapping.Content[i].Value, mapping.Content[i+1]); err != nil {
			return err
		}
	}
	return nil
}

// checkString checks that a value is missing, empty or a string.
func checkString(file, where string, value *yaml.Node) error {
	if isNull(value) || value.Kind == yaml.ScalarNode && safeyaml.IsString(value) {
		return nil
	}
	return fmt.Errorf("%s:%d: %s: want a string: put the value in quotes", file, value.Line, where)
}

// checkExpressions limits the strings of the target of a patch, which kustomize reads as regular expressions. A short expression with
// a counted repetition, such as (a|a?){1000}, can need seconds and gigabytes.
func checkExpressions(file string, target *yaml.Node) error {
	const most = 200
	for _, value := range target.Content {
		if len(value.Value) > most || strings.Contains(value.Value, "{") {
			return fmt.Errorf("%s:%d: want at most %d characters, and no {, because kustomize reads this value as a regular expression", file, value.Line, most)
		}
	}
	return nil
}
