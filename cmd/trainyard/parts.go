package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/trainyard/trainyard/generator"
	"github.com/trainyard/trainyard/generator/object"
)

// partLabels are the labels of objects that belong to a part of the document.
var partLabels = map[string]string{
	"runtime": "trainyard.dev/runtime",
	"tenant":  "trainyard.dev/tenant",
}

// checkPart refuses what is not of the form runtime/NAME or tenant/NAME.
func checkPart(part string) error {
	kind, name, _ := strings.Cut(part, "/")
	if _, ok := partLabels[kind]; !ok || name == "" || strings.Contains(name, "/") {
		return &usageError{fmt.Errorf("%q: want runtime/NAME or tenant/NAME", part)}
	}
	return nil
}

// selectParts keeps the objects of some parts of each platform; all, where none are named.
func selectParts(platforms []generator.Platform, parts []string) ([]generator.Platform, error) {
	if len(parts) == 0 {
		return platforms, nil
	}
	for _, part := range parts {
		if known := partsOf(platforms); !slices.Contains(known, part) {
			return nil, oneOf("--only", part, known)
		}
	}
	selected := slices.Clone(platforms)
	for i, p := range platforms {
		selected[i].Objects = p.Objects.Select(func(o object.Object) bool {
			return slices.ContainsFunc(parts, func(part string) bool { return belongs(o, part) })
		})
	}
	return selected, nil
}

func belongs(o object.Object, part string) bool {
	kind, name, _ := strings.Cut(part, "/")
	return o.Label(partLabels[kind]) == name
}

// partsOf lists the parts that the document has in some environment, ordered by name.
func partsOf(platforms []generator.Platform) []string {
	var known []string
	for _, p := range platforms {
		known = append(known, p.Parts...)
	}
	slices.Sort(known)
	return slices.Compact(known)
}
