package object

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// pointer is a path as it is kept: most of it is that of the one before.
type pointer struct {
	_     struct{} `cbor:",toarray"`
	Alike int      // steps that it has in common with the path before
	Rest  string   // the others, as RFC 6901 writes them
}

var escape, restore = strings.NewReplacer("~", "~0", "/", "~1"), strings.NewReplacer("~1", "/", "~0", "~")

// pointersTo writes paths.
func pointersTo(paths [][]any) []pointer {
	var pointers []pointer
	var before []any
	for _, path := range paths {
		p := pointer{Alike: alike(before, path)}
		for _, step := range path[p.Alike:] {
			p.Rest += "/" + escape.Replace(fmt.Sprint(step))
		}
		pointers, before = append(pointers, p), path
	}
	return pointers
}

// alike counts the steps in which two paths begin.
func alike(a, b []any) int {
	n := 0
	for n < min(len(a), len(b)) && a[n] == b[n] {
		n++
	}
	return n
}

// pathsOf follows pointers: what lies there says which steps are indexes.
func pathsOf(pointers []pointer, root any) [][]any {
	paths := make([][]any, len(pointers))
	var path []any
	for i, p := range pointers {
		path = path[:max(0, min(p.Alike, len(path)))]
		node := At(root, path)
		for _, step := range strings.Split(p.Rest, "/")[1:] {
			path = append(path, stepInto(node, step))
			node = below(node, path[len(path)-1])
		}
		paths[i] = slices.Clone(path)
	}
	return paths
}

// stepInto is an index of a list, or a key.
func stepInto(node any, step string) any {
	if _, isList := node.([]any); isList {
		index, _ := strconv.Atoi(step)
		return index
	}
	if strings.Contains(step, "~") {
		return restore.Replace(step)
	}
	return step
}
