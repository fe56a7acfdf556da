package kustomization

import (
	"fmt"

	"github.com/trainyard/trainyard/api/v1alpha1"
)

// origin is the file and the line where an object is defined.
type origin struct {
	file string // relative to the root of the tree
	line int    // the first line of the object, counted from 1
}

// originAnnotation is the key of an annotation. The value of the annotation identifies the origin of an object. The
// method "mark" adds the annotation to a copy of the object, and kustomize reads only this copy. Build removes the
// annotation from the built objects. A tenant's patch can replace all annotations of an object. Therefore, Build
// accepts only values that the method "mark" has written.
const originAnnotation = v1alpha1.Group + "/origin"

// mark adds the origin annotation to an object.
func (w *walk) mark(object map[string]any, o origin) {
	metadata, isMapping := object["metadata"].(map[string]any)
	if !isMapping {
		return // kustomize reports that the name is missing
	}
	annotations, _ := metadata["annotations"].(map[string]any)
	if annotations == nil {
		annotations = map[string]any{}
	}
	key := fmt.Sprintf("%s:%d", o.file, o.line)
	annotations[originAnnotation] = key
	metadata["annotations"] = annotations
	w.origins[key] = o
}

// takeOrigin removes the origin annotation of an object, and returns the origin. The result is empty if the
// origin is unknown.
func (w *walk) takeOrigin(object map[string]any) origin {
	metadata, _ := object["metadata"].(map[string]any)
	annotations, _ := metadata["annotations"].(map[string]any)
	key, _ := annotations[originAnnotation].(string)
	delete(annotations, originAnnotation)
	if len(annotations) == 0 {
		delete(metadata, "annotations")
	}
	return w.origins[key]
}
