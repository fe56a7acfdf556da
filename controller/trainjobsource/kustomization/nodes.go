package kustomization

import (
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/trainyard/trainyard/controller/trainjobsource/safeyaml"
)

// The variable "reserved" lists the annotations that a tenant must not use. Each item is a whole name, or a prefix that
// ends with "/". kustomize stores its own state in annotations. For example, if a tenant set the annotation
// previousNames, kustomize would search all objects for references, which can take minutes. The annotation
// allowNameChange would let a patch change the name of an object.
var reserved = []string{originAnnotation, "internal.config.kubernetes.io/", "config.kubernetes.io/", "kustomize.config.k8s.io/", "config.k8s.io/", "alpha.config.kubernetes.io/"}

// isReserved reports whether a key is the name of a reserved annotation.
func isReserved(key string) bool {
	return slices.ContainsFunc(reserved, func(prefix string) bool {
		return key == prefix || strings.HasSuffix(prefix, "/") && strings.HasPrefix(key, prefix)
	})
}

// findForbidden searches a YAML node and all nodes inside it for forbidden content. findForbidden returns an error for
// the first match, or nil if there is none. The forbidden content is:
//   - the operation "copy" of JSON patches, because each copy can double the size of an object
//   - the key "<<", which kustomize drops even if it is in quotes
//   - the name of a reserved annotation, as a key or in a JSON pointer
func findForbidden(node *yaml.Node) *safeyaml.MistakeError {
	if node.Kind == yaml.MappingNode {
		if found := findForbiddenKey(node); found != nil {
			return found
		}
	}
	for _, child := range node.Content {
		if found := findForbidden(child); found != nil {
			return found
		}
	}
	return nil
}

// findForbiddenKey checks the operation, the keys and the JSON pointers of one mapping, but not the nodes inside it.
func findForbiddenKey(mapping *yaml.Node) *safeyaml.MistakeError {
	if textOf(mapping, "op") == "copy" && valueOf(mapping, "path") != nil {
		return &safeyaml.MistakeError{Line: max(mapping.Line, 1), Message: "the operation copy is not allowed in JSON patches"}
	}
	for i := 0; i+1 < len(mapping.Content); i += 2 {
		key, value := mapping.Content[i], mapping.Content[i+1]
		names := []string{key.Value}
		if key.Value == "path" || key.Value == "from" {
			names = append(names, parts(value.Value)...)
		}
		if key.Value == "<<" {
			return &safeyaml.MistakeError{Line: max(key.Line, 1), Message: "the key << is not allowed"}
		}
		if at := slices.IndexFunc(names, isReserved); at >= 0 {
			return &safeyaml.MistakeError{Line: max(key.Line, 1), Message: "the annotation " + names[at] + " is reserved"}
		}
	}
	return nil
}

// parts returns the parts of a JSON pointer (RFC 6901).
func parts(pointer string) []string {
	all := strings.Split(strings.TrimPrefix(pointer, "/"), "/")
	for i, part := range all {
		all[i] = strings.NewReplacer("~1", "/", "~0", "~").Replace(part)
	}
	return all
}

// valueOf returns the value of a key of a mapping, or nil if the key is missing.
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

// textOf returns the value of a key as text, or an empty string if the key is missing or its value is a mapping or
// list. A number is returned as it is written in the file.
func textOf(mapping *yaml.Node, key string) string {
	if value := valueOf(mapping, key); value != nil {
		return value.Value
	}
	return ""
}
