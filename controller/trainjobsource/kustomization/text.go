package kustomization

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/trainyard/trainyard/api/v1alpha1"
	"github.com/trainyard/trainyard/controller/trainjobsource/safeyaml"
)

// maxObjectValues is the maximum number of values of an object or a patch. The time that kustomize needs to merge a patch into an
// object grows with the square of this number.
const maxObjectValues = 2000

// content is the checked text of a file or a patch.
type content struct {
	objects, values int64 // the number of objects or patches, and of the values in them
	text            []byte
}

// checkText checks the YAML of a file or a patch, and writes it again for kustomize: as JSON without comments, because kustomize reads
// instructions in comments. The function "check" checks each object or patch, and "mark" can change it before it is written.
func checkText(file string, text []byte, check checkFunc, mark markFunc) (found content, err error) {
	decoder := yaml.NewDecoder(bytes.NewReader(text))
	found.text = []byte("# kustomize accepts no empty file\n")
	for {
		var node yaml.Node
		err := decoder.Decode(&node)
		if errors.Is(err, io.EOF) {
			return found, nil
		}
		if err != nil {
			mistake := safeyaml.ParseError(text, err)
			return content{}, fmt.Errorf("%s:%d: %s", file, mistake.Line, mistake.Message)
		}
		values, err := checkDocument(file, &node, check)
		if err != nil {
			return content{}, err
		}
		if isEmpty(&node) {
			continue
		}
		encoded, err := encode(file, &node, mark)
		if err != nil {
			return content{}, err
		}
		found.objects++
		found.values += values
		if found.objects == 1 {
			found.text = encoded
		} else {
			found.text = slices.Concat(found.text, []byte("\n---\n"), encoded)
		}
	}
}

// markFunc changes an object before it is written for kustomize.
type markFunc func(object map[string]any, line int)

// encode returns a YAML document as JSON.
func encode(file string, document *yaml.Node, mark markFunc) ([]byte, error) {
	value, err := safeyaml.Decode(document)
	if mistake := (*safeyaml.MistakeError)(nil); errors.As(err, &mistake) {
		return nil, fmt.Errorf("%s:%d: %s", file, mistake.Line, mistake.Message)
	}
	if object, isMapping := value.(map[string]any); isMapping && mark != nil {
		mark(object, max(document.Content[0].Line, 1))
	}
	return json.Marshal(value)
}

// checkNode refuses YAML that programs may read in different ways, and the operation "copy" of JSON patches, because each of them
// can double the size of an object. It returns the number of values.
func checkNode(file string, node *yaml.Node) (values int64, err error) {
	count, err := safeyaml.Check(node)
	if mistake := (*safeyaml.MistakeError)(nil); errors.As(err, &mistake) {
		return 0, fmt.Errorf("%s:%d: %s", file, mistake.Line, mistake.Message)
	}
	if line := findCopy(node); line > 0 {
		return 0, fmt.Errorf("%s:%d: the operation copy is not allowed in JSON patches", file, line)
	}
	return int64(count), nil
}

// checkFunc checks an object or a patch.
type checkFunc func(node *yaml.Node) error

// checkDocument checks a YAML document, and returns the number of its values. It calls the function "check" unless the document is
// empty.
func checkDocument(file string, document *yaml.Node, check checkFunc) (values int64, err error) {
	if values, err = checkNode(file, document); err != nil {
		return 0, err
	}
	if isEmpty(document) {
		return 0, nil
	}
	node := document.Content[0]
	if values > maxObjectValues {
		return 0, fmt.Errorf("%s:%d: the object or patch has more than %d values", file, max(node.Line, 1), maxObjectValues)
	}
	if err := check(node); err != nil {
		return 0, fmt.Errorf("%s:%d: %w", file, max(node.Line, 1), err)
	}
	return values, nil
}

// isEmpty reports whether a YAML document contains nothing, or only comments.
func isEmpty(document *yaml.Node) bool {
	return len(document.Content) == 0 || isNull(document.Content[0])
}

// isNull reports whether a value is null or missing.
func isNull(node *yaml.Node) bool { return node == nil || node.ShortTag() == "!!null" }

// checkResource refuses objects other than TrainJobs. kustomize knows other kinds: for example, it merges the containers of a
// Deployment, and needs minutes for many containers.
func checkResource(object *yaml.Node) error {
	if err := CheckKind(textOf(object, "apiVersion"), textOf(object, "kind")); err != nil {
		return err
	}
	return checkLengths(object)
}

// CheckKind refuses objects that are no TrainJobs.
func CheckKind(version, kind string) error {
	switch {
	case version == "":
		return errors.New("the field apiVersion is missing: a TrainJob has the apiVersion " + v1alpha1.TrainerAPIVersion)
	case kind == "":
		return errors.New("the field kind is missing: want TrainJob")
	case version != v1alpha1.TrainerAPIVersion || kind != "TrainJob":
		return fmt.Errorf("%s %s is not allowed: a TrainJobSource applies only TrainJobs of %s", version, kind, v1alpha1.TrainerAPIVersion)
	}
	return nil
}

// checkPatch refuses patches of objects other than TrainJobs, and JSON patches that change the kind or the name of an object.
func checkPatch(patch *yaml.Node) error {
	if patch.Kind == yaml.SequenceNode {
		return checkOperations(patch)
	}
	version, kind := textOf(patch, "apiVersion"), textOf(patch, "kind")
	switch {
	case version == "" || kind == "" || textOf(valueOf(patch, "metadata"), "name") == "":
		return errors.New("a patch needs apiVersion, kind and metadata.name; if it has a target, the name can be any name")
	case version != v1alpha1.TrainerAPIVersion || kind != "TrainJob":
		return fmt.Errorf("a patch of %q %q is not allowed: a TrainJobSource applies only TrainJobs of %s", version, kind, v1alpha1.TrainerAPIVersion)
	}
	return checkLengths(patch)
}

// checkSinglePatch checks a patch without a target. Such a patch names its object itself.
func checkSinglePatch(patch *yaml.Node) error {
	if patch.Kind == yaml.SequenceNode {
		return errors.New("a JSON patch needs a target")
	}
	return checkPatch(patch)
}

// checkFor returns the check for patches with or without a target.
func checkFor(single bool) checkFunc {
	if single {
		return checkSinglePatch
	}
	return checkPatch
}

// checkLengths limits the names of an object or a patch.
func checkLengths(object *yaml.Node) error {
	for _, field := range []string{"name", "namespace"} {
		if len(textOf(valueOf(object, "metadata"), field)) > maxName {
			return fmt.Errorf("metadata.%s: want at most %d characters", field, maxName)
		}
	}
	return nil
}

// checkOperations refuses operations of a JSON patch that change the kind or the name of an object, or all its metadata.
func checkOperations(operations *yaml.Node) error {
	for _, operation := range operations.Content {
		for _, field := range []string{"path", "from"} {
			pointer := textOf(operation, field)
			switch part := strings.Split(strings.TrimPrefix(pointer, "/"), "/"); {
			case valueOf(operation, field) == nil:
			case slices.Contains([]string{"", "apiVersion", "kind"}, part[0]) || part[0] == "metadata" && (len(part) == 1 || part[1] == "name"):
				return fmt.Errorf("a JSON patch must not change %q", pointer)
			case part[0] == "metadata" && part[1] == "namespace" && len(textOf(operation, "value")) > maxName:
				return fmt.Errorf("metadata.namespace: want at most %d characters", maxName)
			}
		}
	}
	return nil
}

// textOf returns the value of a key of a mapping as it is in the file, or an empty string.
func textOf(mapping *yaml.Node, key string) string {
	if value := valueOf(mapping, key); value != nil {
		return value.Value
	}
	return ""
}

// findCopy returns the line of the first operation "copy", or 0.
func findCopy(node *yaml.Node) int {
	if op := valueOf(node, "op"); op != nil && op.Value == "copy" {
		return max(op.Line, 1)
	}
	for _, child := range node.Content {
		if line := findCopy(child); line > 0 {
			return line
		}
	}
	return 0
}

// valueOf returns the value of a key of a mapping, or nil.
func valueOf(mapping *yaml.Node, key string) *yaml.Node {
	if mapping == nil || mapping.Kind != yaml.MappingNode {
		return nil
	}
	for i := 0; i+1 < len(mapping.Content); i += 2 {
		if mapping.Content[i].Value == key {
			return mapping.Content[i+1]
		}
	}
	return nil
}
