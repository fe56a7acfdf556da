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
	"sigs.k8s.io/kustomize/kyaml/kio"
	kyaml "sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/trainyard/trainyard/api/v1alpha1"
	"github.com/trainyard/trainyard/controller/trainjobsource/safeyaml"
)

// maxObjectValues is the maximum number of values of an object or a patch. The time that kustomize needs to merge a patch into an
// object grows with the square of this number.
const maxObjectValues = 2000

// content counts the objects or patches in a file, and the values in them.
type content struct{ objects, values int64 }

// checkText checks the YAML of a file or a patch. It checks the text twice: as a stream of YAML documents, for messages with lines,
// and as kustomize divides it into objects, so that a difference between the two parsers cannot hide text from the checks. The
// function "check" checks each object or patch.
func checkText(file string, text []byte, check checkFunc) (found content, err error) {
	decoder := yaml.NewDecoder(bytes.NewReader(text))
	for {
		var node yaml.Node
		err := decoder.Decode(&node)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			mistake := safeyaml.ParseError(text, err)
			return content{}, fmt.Errorf("%s:%d: %s", file, mistake.Line, mistake.Message)
		}
		if _, err := checkNode(file, &node); err != nil {
			return content{}, err
		}
		if err := checkDocument(file, &node, check); err != nil {
			return content{}, err
		}
	}
	read, err := readObjects(file, text)
	if err != nil {
		return content{}, err
	}
	for _, object := range read {
		values, err := checkNode(file, object.YNode())
		if err != nil {
			return content{}, err
		}
		if values > maxObjectValues {
			return content{}, fmt.Errorf("%s:%d: the object or patch has more than %d values", file, max(object.YNode().Line, 1), maxObjectValues)
		}
		if err := checkDocument(file, object.YNode(), check); err != nil {
			return content{}, err
		}
		found.values += values
	}
	found.objects = int64(len(read))
	return found, nil
}

// readObjects reads a text as kustomize does.
func readObjects(file string, text []byte) ([]*kyaml.RNode, error) {
	if bytes.HasPrefix(bytes.TrimSpace(text), []byte("[")) && !json.Valid(text) {
		return nil, fmt.Errorf("%s: a list that begins with [ must be valid JSON for kustomize: put keys and values in quotes, or begin each item with -", file)
	}
	read, err := (&kio.ByteReader{Reader: bytes.NewReader(text), OmitReaderAnnotations: true, WrapBareSeqNode: true}).Read()
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	return read, nil
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

// checkDocument calls a checkFunc for a YAML document, unless it is empty.
func checkDocument(file string, node *yaml.Node, check checkFunc) error {
	if node.Kind == yaml.DocumentNode {
		node = node.Content[0]
	}
	if list := valueOf(node, kyaml.BareSeqNodeWrappingKey); list != nil { // kio has put a list into a mapping
		node = list
	}
	if node.ShortTag() == "!!null" {
		return nil
	}
	if err := check(node); err != nil {
		return fmt.Errorf("%s:%d: %w", file, max(node.Line, 1), err)
	}
	return nil
}

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
	if version != "" && version != v1alpha1.TrainerAPIVersion || kind != "" && kind != "TrainJob" {
		return fmt.Errorf("a patch of %q %q is not allowed: a TrainJobSource applies only TrainJobs of %s", version, kind, v1alpha1.TrainerAPIVersion)
	}
	return checkLengths(patch)
}

// checkFor returns the check for patches with or without a target.
func checkFor(single bool) checkFunc {
	if single {
		return checkSinglePatch
	}
	return checkPatch
}

// checkSinglePatch checks a patch without a target. Such a patch names its object itself.
func checkSinglePatch(patch *yaml.Node) error {
	if patch.Kind == yaml.SequenceNode {
		return errors.New("a JSON patch needs a target")
	}
	if textOf(patch, "kind") == "" || textOf(valueOf(patch, "metadata"), "name") == "" {
		return errors.New("a patch without a target needs the kind and metadata.name of its object")
	}
	return checkPatch(patch)
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
