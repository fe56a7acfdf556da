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

// checkText checks the YAML of a file or a patch, and returns the number of objects in it. It checks the text twice: as a
// stream of YAML documents, for messages with lines, and as kustomize divides it into objects, so that a difference between
// the two parsers cannot hide text from the checks.
func checkText(file string, text []byte) (objects int64, err error) {
	decoder := yaml.NewDecoder(bytes.NewReader(text))
	for {
		var node yaml.Node
		err := decoder.Decode(&node)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return 0, fmt.Errorf("%s: %s", file, strings.TrimPrefix(err.Error(), "yaml: "))
		}
		if err := checkNode(file, &node); err != nil {
			return 0, err
		}
	}
	read, err := (&kio.ByteReader{Reader: bytes.NewReader(text), OmitReaderAnnotations: true, WrapBareSeqNode: true}).Read()
	if err != nil {
		return 0, fmt.Errorf("%s: %w", file, err)
	}
	for _, object := range read {
		if err := checkNode(file, object.YNode()); err != nil {
			return 0, err
		}
	}
	return int64(len(read)), nil
}

// checkNode refuses YAML that programs may read in different ways, and the operation "copy" of JSON patches, because each of them
// can double the size of an object.
func checkNode(file string, node *yaml.Node) error {
	_, err := safeyaml.Check(node)
	if mistake := (*safeyaml.MistakeError)(nil); errors.As(err, &mistake) {
		return fmt.Errorf("%s:%d: %s", file, mistake.Line, mistake.Message)
	}
	if line := findCopy(node); line > 0 {
		return fmt.Errorf("%s:%d: the operation copy is not allowed in JSON patches", file, line)
	}
	return nil
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
