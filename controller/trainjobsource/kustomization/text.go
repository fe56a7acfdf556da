package kustomization

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"

	"go.yaml.in/yaml/v3"
	"sigs.k8s.io/kustomize/kyaml/kio"
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
		if err := checkNode(file, &node, 0); err != nil {
			return 0, err
		}
	}
	read, err := (&kio.ByteReader{Reader: bytes.NewReader(text), OmitReaderAnnotations: true, WrapBareSeqNode: true}).Read()
	if err != nil {
		return 0, fmt.Errorf("%s: %w", file, err)
	}
	for _, object := range read {
		if err := checkNode(file, object.YNode(), 0); err != nil {
			return 0, err
		}
	}
	return int64(len(read)), nil
}

// maxDepth is the maximum depth of mappings and lists in a file.
const maxDepth = 100

// checkNode refuses aliases, because kustomize expands them without a limit; the operation "copy" of JSON patches,
// because each of them can double the size of an object; and repeated keys, because programs differ in which of the
// values they use.
func checkNode(file string, node *yaml.Node, depth int) error {
	if node.Kind == yaml.AliasNode || node.Anchor != "" {
		return fmt.Errorf("%s:%d: anchors and aliases are not allowed in a kustomization", file, node.Line)
	}
	if op := valueOf(node, "op"); op != nil && op.Value == "copy" {
		return fmt.Errorf("%s:%d: the operation copy is not allowed in JSON patches", file, op.Line)
	}
	if depth > maxDepth {
		return fmt.Errorf("%s:%d: mappings and lists are nested more than %d times", file, node.Line, maxDepth)
	}
	keys := map[string]bool{}
	for i, child := range node.Content {
		if node.Kind == yaml.MappingNode && i%2 == 0 {
			if keys[child.Value] {
				return fmt.Errorf("%s:%d: the key %q appears twice in one mapping", file, child.Line, child.Value)
			}
			keys[child.Value] = true
		}
		if err := checkNode(file, child, depth+1); err != nil {
			return err
		}
	}
	return nil
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
