package kustomization

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"

	"go.yaml.in/yaml/v3"
	"sigs.k8s.io/kustomize/kyaml/kio"

	"github.com/trainyard/trainyard/controller/trainjobsource/safeyaml"
)

// maxObjectValues is the maximum number of values of an object or a patch. The time that kustomize needs to merge a patch into an
// object grows with the square of this number.
const maxObjectValues = 2000

// content counts the objects or patches in a file, and the values in them.
type content struct{ objects, values int64 }

// checkText checks the YAML of a file or a patch. It checks the text twice: as a stream of YAML documents, for messages with lines,
// and as kustomize divides it into objects, so that a difference between the two parsers cannot hide text from the checks.
func checkText(file string, text []byte) (found content, err error) {
	decoder := yaml.NewDecoder(bytes.NewReader(text))
	for {
		var node yaml.Node
		err := decoder.Decode(&node)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return content{}, fmt.Errorf("%s: %s", file, strings.TrimPrefix(err.Error(), "yaml: "))
		}
		if _, err := checkNode(file, &node); err != nil {
			return content{}, err
		}
	}
	read, err := (&kio.ByteReader{Reader: bytes.NewReader(text), OmitReaderAnnotations: true, WrapBareSeqNode: true}).Read()
	if err != nil {
		return content{}, fmt.Errorf("%s: %w", file, err)
	}
	for _, object := range read {
		values, err := checkNode(file, object.YNode())
		if err != nil {
			return content{}, err
		}
		if values > maxObjectValues {
			return content{}, fmt.Errorf("%s:%d: the object or patch has more than %d values", file, max(object.YNode().Line, 1), maxObjectValues)
		}
		found.values += values
	}
	found.objects = int64(len(read))
	return found, nil
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
