package kustomization

import (
	"fmt"
	"io/fs"
	"path"
	"strings"
	"sync"

	"k8s.io/apimachinery/pkg/util/json" // decodes integers as int64
	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/api/resource"
	"sigs.k8s.io/kustomize/kyaml/filesys"
	"sigs.k8s.io/kustomize/kyaml/openapi"
)

// Names lists the possible names of a kustomization file, as in kustomize's konfig.RecognizedKustomizationFileNames.
var Names = []string{"kustomization.yaml", "kustomization.yml", "Kustomization"}

// Object is one object of a built kustomization.
type Object struct {
	File   string         // the file that defines the object, relative to the root of the tree; the folder of the kustomization if unknown
	Line   int            // the first line of the object in the file, counted from 1; 0 if unknown
	Fields map[string]any // the object after all patches
}

// Limits contains limits for the size of a kustomization and for the work of its build. A file that is used several
// times counts each time, because kustomize reads it each time.
//
// A transformation changes objects of a folder. A transformation is a patch, an item of "images" or "labels", or a
// field such as namePrefix. The field Work limits the estimated time of a build. The estimate for the build is the sum
// of the estimates for all folders. The estimate for one folder is T × (V + N × E) + M × N² / 80:
//   - T is the number of transformations. An item of "images" counts at least twice.
//   - V is the number of values. A long value counts as several values.
//   - N is the number of objects.
//   - E is the largest number of transformations of one object. E also counts the transformations in the folders that
//     the folder uses. kustomize records the transformations in the object, and reads these records again for each
//     transformation.
//   - M counts how often kustomize compares the names of all objects with each other: once for the folder, and once for
//     each component, each patch with a target, and the field namespace.
type Limits struct {
	FileBytes int64 // of one file
	Bytes     int64 // of all files
	Objects   int64 // in all files
	Values    int64 // of all objects, including the values that transformations can add; mappings, lists, keys and scalars count
	Added     int64 // the bytes of each kustomization, including its patches with a target, times the number of objects that it can change
	Work      int64
	Depth     int64 // of a chain of folders, each of which uses the next one
	// Components is the maximum length of a chain of components, in which each component uses the next one. In a long
	// chain, the text of an error could become very long. For each component of the chain, kustomize adds quotes around
	// the text, and escapes characters in the text. This can double the length of the text.
	Components int64
	Folders    int64 // uses of folders; a folder that is used twice counts twice, with all folders that it uses
}

// DefaultLimits allows larger kustomizations than people usually write. As far as is known, kustomize needs a few seconds
// to build a kustomization that reaches DefaultLimits. The limits include a safety margin, because kustomize can be slow
// for reasons that Limits.Work does not take into account.
var DefaultLimits = Limits{FileBytes: 512 << 10, Bytes: 2 << 20, Objects: 300, Values: 60_000, Added: 8 << 20, Work: 500_000, Depth: 10, Components: 2, Folders: 100}

// building, a sync.Mutex, is locked during each build, so that only one build can run at a time. The reason is that
// kustomize keeps the OpenAPI schema in a global variable.
var building sync.Mutex

// Build builds the kustomization in a folder of the tree. Build returns the objects in the order of the resources,
// unless the field sortOptions sets another order. If possible, an error of Build names the file and the line.
func Build(tree fs.FS, folder string, limits Limits) ([]Object, error) {
	w := &walk{tree: tree, limits: limits, copied: filesys.MakeFsInMemory(), origins: map[string]origin{}, marked: map[string]bool{}, folders: map[string]*total{}}
	if _, err := w.folder(folder); err != nil {
		return nil, err
	}
	return w.build(folder)
}

// build runs kustomize on the copied files.
func (w *walk) build(folder string) (objects []Object, err error) {
	building.Lock()
	defer building.Unlock()
	defer openapi.ResetOpenAPI()
	defer func() {
		if failed := recover(); failed != nil { // a mistake of kustomize must not stop the controller
			err = fmt.Errorf("building the kustomization in %s: kustomize failed: %v", folder, failed)
		}
	}()
	resources, err := krusty.MakeKustomizer(krusty.MakeDefaultOptions()).Run(w.copied, inMemory(folder))
	if err != nil { // kustomize prints parts of files in its errors, with line ends
		return nil, fmt.Errorf("building the kustomization in %s: %s", folder, strings.Join(strings.Fields(err.Error()), " "))
	}
	for _, resource := range resources.Resources() {
		fields, err := fieldsOf(resource)
		if err != nil {
			return nil, fmt.Errorf("building the kustomization in %s: %w", folder, err)
		}
		o := w.takeOrigin(fields)
		if o.file == "" {
			o.file = folder
		}
		objects = append(objects, Object{o.file, o.line, fields})
	}
	return objects, nil
}

// fieldsOf returns the fields of an object. Their values have the Go types that the Kubernetes package "unstructured"
// needs. Integers, for example, are int64. fieldsOf does not use the method Map of a resource, because Map returns
// integers as int.
func fieldsOf(resource *resource.Resource) (fields map[string]any, err error) {
	text, err := resource.MarshalJSON()
	if err == nil {
		err = json.Unmarshal(text, &fields)
	}
	return fields, err
}

// inMemory returns the path of the copy of a file. The argument "file" is the path of the original file in the tree.
// kustomize reads the copies from a file system in memory. All paths in this file system are absolute.
func inMemory(file string) string { return path.Join("/", file) }
