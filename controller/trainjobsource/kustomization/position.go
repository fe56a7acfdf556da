package kustomization

import (
	"bytes"
	"strings"

	"go.yaml.in/yaml/v3"
)

// position is the place of an object in a file.
type position struct {
	name string // metadata.name in the file
	line int    // the first line of the object, counted from 1
}

// positionsOf returns the objects of a file in their order.
func positionsOf(text []byte) (all []position) {
	decoder := yaml.NewDecoder(bytes.NewReader(text))
	for {
		var node yaml.Node
		if decoder.Decode(&node) != nil {
			return all
		}
		if len(node.Content) == 0 {
			continue
		}
		if name := valueOf(valueOf(node.Content[0], "metadata"), "name"); name != nil {
			all = append(all, position{name.Value, node.Content[0].Line})
		}
	}
}

// lineOf returns the first line of an object in its file, or 0 if it is unknown. kustomize can add a prefix and a suffix to the name
// of the object, and does not return the earlier name. kustomize usually keeps the order of the objects of a file, so lineOf first
// looks at the object with the given index, and then at all objects. A file that is used twice has its objects twice.
func lineOf(positions []position, index int, name string) int {
	if len(positions) == 0 {
		return 0
	}
	if next := positions[index%len(positions)]; strings.Contains(name, next.name) {
		return next.line
	}
	longest := position{}
	for _, p := range positions {
		if len(p.name) > len(longest.name) && strings.Contains(name, p.name) {
			longest = p
		}
	}
	return longest.line
}
