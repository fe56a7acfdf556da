package kustomization

import (
	"fmt"
	"regexp"
	"strings"

	"go.yaml.in/yaml/v3"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/trainyard/trainyard/controller/trainjobsource/safeyaml"
)

// maxName is the maximum length of a name in bytes, as for names of objects in Kubernetes. Names need a limit, because
// kustomize stores a copy of an object's earlier names for each transformation.
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

// imageName matches the allowed names, tags and digests of images. In a kustomization file, each item of the list
// "images" contains the name of the image that the item changes. kustomize reads this name as a regular expression, and
// compares each image in the objects with this expression. A name with characters such as * or + could be a regular
// expression that makes a build slow.
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
				return fmt.Errorf("%s:%d: images: want values of at most %d characters, only letters, digits and . _ / : @ -", file, value.Line, maxName)
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

// checkString returns an error if a value is neither a string nor null. A missing value causes no error.
func checkString(file, where string, value *yaml.Node) error {
	if isNull(value) || value.Kind == yaml.ScalarNode && safeyaml.IsString(value) {
		return nil
	}
	return fmt.Errorf("%s:%d: %s: want a string: put the value in quotes", file, value.Line, where)
}

// targetFields lists the allowed fields of the target of a patch.
var targetFields = map[string]bool{
	"group": true, "version": true, "kind": true, "name": true, "namespace": true, "labelSelector": true, "annotationSelector": true,
}

// targetValue matches the allowed values in the target of a patch. kustomize reads most of these values as regular
// expressions. Even a short expression can need seconds, and gigabytes of memory. Examples are a counted repetition
// such as (a|a?){1000}, and a large character class such as (?i)\pL.
var targetValue = regexp.MustCompile(`^([ -Z\[\]-z|~]|\\[ -OQ-oq-~])*$`)

// checkTarget checks the fields of the target of a patch.
func checkTarget(file string, target *yaml.Node) error {
	const most = 200
	if isNull(target) {
		return nil
	}
	if target.Kind != yaml.MappingNode {
		return fmt.Errorf("%s:%d: target: want a mapping", file, target.Line)
	}
	if err := checkKeys(file, target, targetFields, "the target of a patch"); err != nil {
		return err
	}
	if err := checkStrings(file, "target", target); err != nil {
		return err
	}
	for i := 0; i+1 < len(target.Content); i += 2 {
		field, value := target.Content[i].Value, target.Content[i+1]
		where := fmt.Sprintf("%s:%d: target: %s", file, value.Line, field)
		if len(value.Value) > most || !targetValue.MatchString(value.Value) || strings.Contains(value.Value, "(?") {
			return fmt.Errorf("%s: want at most %d ASCII characters, without \"{\", \"}\", \"(?\", \"\\p\" and \"\\P\"", where, most)
		}
		if err := checkSelection(field, value.Value); err != nil {
			return fmt.Errorf("%s: %w", where, err)
		}
	}
	return nil
}

// checkSelection checks the syntax of one field of a target. kustomize reads labelSelector and annotationSelector as selectors of
// Kubernetes, and all other fields as regular expressions.
func checkSelection(field, value string) (err error) {
	if strings.HasSuffix(field, "Selector") {
		_, err = labels.Parse(value)
	} else {
		_, err = regexp.Compile(value)
	}
	return err
}
