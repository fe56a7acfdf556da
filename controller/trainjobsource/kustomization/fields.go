package kustomization

import (
	"errors"
	"fmt"
	"io"
	"path"
	"regexp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
	"sigs.k8s.io/kustomize/api/types"

	"github.com/trainyard/trainyard/controller/trainjobsource/safeyaml"
)

// allowedFields lists the allowed fields of a kustomization. Fields that can do harm are not
// allowed. For example, the list does not contain the field "replacements", because each
// replacement can double the size of an object.
var allowedFields = map[string]bool{
	"apiVersion": true, "kind": true, "metadata": true,
	"resources": true, "components": true, "patches": true,
	"namePrefix": true, "nameSuffix": true, "namespace": true,
	"labels": true, "commonLabels": true, "commonAnnotations": true, "images": true,
	"sortOptions": true,
}

// nameFields lists the fields that change the names and namespaces of all objects. commonFields lists the fields that
// change the labels and annotations of all objects.
var (
	nameFields   = []string{"namePrefix", "nameSuffix", "namespace"}
	commonFields = []string{"commonLabels", "commonAnnotations"}
)

// patchFields lists the allowed fields of an item of "patches". labelFields lists the allowed fields of an item of
// "labels".
var (
	patchFields = map[string]bool{"path": true, "patch": true, "target": true}
	labelFields = map[string]bool{"pairs": true, "includeSelectors": true, "includeTemplates": true}
)

// replacedFields maps each deprecated field to the field that replaces it.
var replacedFields = map[string]string{
	"bases": "resources", "patchesStrategicMerge": "patches", "patchesJson6902": "patches", "imageTags": "images",
}

// parsed holds the parts of a kustomization file that this package needs.
type parsed struct {
	resources  []reference
	components []reference
	patchFiles []patchFile
	inline     []string // the patches in the kustomization file itself
	own        own
	bytes      int64  // of the file
	text       []byte // the file for kustomize as JSON
}

// patchFile is a file with patches.
type patchFile struct {
	reference
	single bool // each patch changes only one object, because the item of "patches" has no target
}

// reference is a path that a kustomization contains.
type reference struct {
	path string
	line int
}

// parse reads a kustomization, and refuses fields that are not allowed.
func parse(file string, text []byte) (parsed, error) {
	reader := safeyaml.NewReader(text)
	document, err := reader.Next()
	if err != nil && !errors.Is(err, io.EOF) {
		return parsed{}, locate(file, 1, err)
	}
	if second, err := reader.Next(); !errors.Is(err, io.EOF) && (err != nil || !isEmpty(second)) {
		return parsed{}, fmt.Errorf("%s: want only one YAML document", file)
	}
	if _, err := checkNode(file, document); err != nil {
		return parsed{}, err
	}
	if len(document.Content) == 0 || document.Content[0].Kind != yaml.MappingNode {
		return parsed{}, fmt.Errorf("%s: want a mapping with the fields of a kustomization, such as resources", file)
	}
	root := document.Content[0]
	if err := checkKeys(file, root, allowedFields, "the kustomization of a TrainJobSource"); err != nil {
		return parsed{}, err
	}
	k := parsed{bytes: int64(len(text)), own: own{bytes: int64(len(text))}}
	if err := k.readLists(file, root); err != nil {
		return parsed{}, err
	}
	if err := k.encode(file, document); err != nil {
		return parsed{}, err
	}
	return k, k.compare(file)
}

// readLists reads the lists "resources", "components" and "patches". readLists also checks the
// fields that change names, labels, annotations and images, and counts the transformations of these
// fields.
func (k *parsed) readLists(file string, root *yaml.Node) error {
	for field, list := range map[string]*[]reference{"resources": &k.resources, "components": &k.components} {
		items, err := listOf(file, root, field, yaml.ScalarNode)
		if err != nil {
			return err
		}
		seen := map[string]bool{}
		for _, item := range items {
			cleaned := path.Clean(item.Value)
			if seen[cleaned] {
				return fmt.Errorf("%s:%d: %s: %q is listed twice", file, item.Line, field, item.Value)
			}
			seen[cleaned] = true
			*list = append(*list, reference{item.Value, item.Line})
		}
	}
	if err := checkValues(file, root); err != nil {
		return err
	}
	k.countTransformations(root)
	patches, err := listOf(file, root, "patches", yaml.MappingNode)
	if err != nil {
		return err
	}
	return k.addPatches(file, patches)
}

// countTransformations counts the transformations that are not patches (see Limits), and the values that
// these transformations can add to an object.
func (k *parsed) countTransformations(root *yaml.Node) {
	for _, field := range slices.Concat(nameFields, commonFields) {
		if valueOf(root, field) != nil {
			k.own.transformations++
		}
	}
	if valueOf(root, "namespace") != nil {
		k.own.merges++
	}
	if list := valueOf(root, "labels"); list != nil {
		k.own.transformations += int64(len(list.Content))
	}
	if list := valueOf(root, "images"); list != nil {
		for _, image := range list.Content {
			// kustomize uses the name in this item of the list "images" as a regular expression. The expression is
			// compiled again for each image that the objects contain. A long name takes more time to compile. Each item
			// therefore counts as 2 transformations, plus 1 transformation for every 12 characters of its name.
			k.own.transformations += 2 + int64(len(textOf(image, "name")))/12
		}
	}
	for _, field := range append([]string{"labels"}, commonFields...) {
		if added := valueOf(root, field); added != nil {
			values, _ := safeyaml.Check(added) // parse has checked the whole file
			k.own.values += int64(values)
		}
	}
}

// listOf returns the items of a list. The argument "kind" states whether each item must be a
// mapping or a string.
func listOf(file string, root *yaml.Node, field string, kind yaml.Kind) ([]*yaml.Node, error) {
	list := valueOf(root, field)
	if isNull(list) {
		return nil, nil
	}
	if list.Kind != yaml.SequenceNode {
		return nil, fmt.Errorf("%s:%d: %s: want a list", file, list.Line, field)
	}
	for _, item := range list.Content {
		if item.Kind != kind || kind == yaml.ScalarNode && !safeyaml.IsString(item) {
			return nil, fmt.Errorf("%s:%d: %s: want a list of %s", file, item.Line, field, map[yaml.Kind]string{yaml.ScalarNode: "paths", yaml.MappingNode: "mappings"}[kind])
		}
	}
	return list.Content, nil
}

// encode stores the kustomization in k.text as JSON for kustomize. The JSON contains the checked text of each patch
// instead of the original text.
func (k *parsed) encode(file string, document *yaml.Node) (err error) {
	k.text, err = encode(file, document, func(fields map[string]any, _ int) {
		patches, _ := fields["patches"].([]any)
		next := 0
		for _, item := range patches {
			patch, _ := item.(map[string]any)
			if text, _ := patch["patch"].(string); text != "" {
				patch["patch"] = k.inline[next]
				next++
			}
		}
	})
	return err
}

// compare checks that kustomize and this package read the same paths and patches from a
// kustomization.
func (k *parsed) compare(file string) error {
	read := types.Kustomization{}
	if err := read.Unmarshal(k.text); err != nil {
		return fmt.Errorf("%s: %s", file, strings.Join(strings.Fields(err.Error()), " "))
	}
	var patchFiles, inline []string
	for _, patch := range read.Patches {
		if patch.Path != "" {
			patchFiles = append(patchFiles, patch.Path)
		}
		if patch.Patch != "" {
			inline = append(inline, patch.Patch)
		}
	}
	same := slices.Equal(read.Resources, paths(k.resources)) && slices.Equal(read.Components, paths(k.components)) &&
		slices.Equal(patchFiles, pathsOfPatches(k.patchFiles)) && slices.Equal(inline, k.inline)
	if !same {
		return fmt.Errorf("%s: the controller and kustomize parse this file differently, and get different paths or patches: write each path and each patch as a string", file)
	}
	return nil
}

func pathsOfPatches(files []patchFile) []string {
	var all []string
	for _, f := range files {
		all = append(all, f.path)
	}
	return all
}

func paths(references []reference) []string {
	var all []string
	for _, r := range references {
		all = append(all, r.path)
	}
	return all
}

// checkKeys refuses a mapping with a key that is not allowed. kustomize ignores the case of letters in keys. checkKeys
// accepts only the usual spelling, because the other checks look only for this spelling.
func checkKeys(file string, mapping *yaml.Node, allowed map[string]bool, where string) error {
	for i := 0; i < len(mapping.Content); i += 2 {
		key := mapping.Content[i]
		if now, replaced := replacedFields[key.Value]; replaced {
			return fmt.Errorf("%s:%d: the field %q is deprecated in kustomize and not allowed here: use %s", file, key.Line, key.Value, now)
		}
		if !allowed[key.Value] {
			return fmt.Errorf("%s:%d: the field %q is not allowed in %s", file, key.Line, key.Value, where)
		}
	}
	return nil
}

// addPatches collects the names of the files with patches, and checks the patches in the kustomization file itself.
func (k *parsed) addPatches(file string, items []*yaml.Node) error {
	for _, item := range items {
		if err := checkKeys(file, item, patchFields, "a patch"); err != nil {
			return err
		}
		target := valueOf(item, "target")
		single := isNull(target)
		if err := checkTarget(file, target); err != nil {
			return err
		}
		path, inline := valueOf(item, "path"), valueOf(item, "patch")
		hasPath, hasInline := path != nil && path.Value != "", inline != nil && inline.Value != ""
		if hasPath == hasInline {
			return fmt.Errorf("%s:%d: patches: want exactly one of the fields path and patch in each item", file, item.Line)
		}
		if hasPath {
			k.patchFiles = append(k.patchFiles, patchFile{reference{path.Value, path.Line}, single})
			continue
		}
		patches, err := checkText(fmt.Sprintf("%s:%d: patch", file, inline.Line), []byte(inline.Value), checkFor(single), nil)
		if err == nil {
			err = checkCount(file, inline.Line, patches, single)
		}
		if err != nil {
			return err
		}
		k.inline = append(k.inline, string(patches.text))
		k.own.addPatches(patches, single)
		if single {
			k.own.bytes -= int64(len(inline.Value))
		}
	}
	return nil
}

// checkCount returns an error if an item of "patches" has a target and several patches. kustomize
// also refuses this combination.
func checkCount(file string, line int, patches content, single bool) error {
	if patches.objects > 1 && !single {
		return fmt.Errorf("%s:%d: a patch with a target must be one YAML document", file, line)
	}
	return nil
}

// The regular expression "names" limits which characters a path can contain. The reason is that kustomize's in-memory
// file system allows only the same characters and the colon.
var names = regexp.MustCompile(`^[A-Za-z0-9/._-]+$`)

// resolve returns the path of a file or folder, relative to the root of the tree. The argument "from" is the file that
// contains the reference. resolve refuses paths that lead out of the tree, and paths with characters that are not
// allowed (see "names"). It also refuses paths that kustomize could read as an address on another server. Such paths
// contain special characters of URLs, or begin with "github.com".
func (r reference) resolve(from string) (string, error) {
	where := fmt.Sprintf("%s:%d", from, r.line)
	target := path.Join(path.Dir(from), r.path)
	switch {
	case r.path == "" || strings.ContainsAny(r.path, ":@?\\") || strings.Contains(r.path, "//") || strings.HasPrefix(strings.ToLower(r.path), "github.com"):
		return "", fmt.Errorf("%s: %q: want the path of a file or folder in this repository, because remote resources are not allowed", where, r.path)
	case path.IsAbs(r.path) || target == ".." || strings.HasPrefix(target, "../"):
		return "", fmt.Errorf("%s: %q leads out of the repository", where, r.path)
	case !names.MatchString(target) || strings.Contains(target, ".."):
		return "", fmt.Errorf("%s: path %q: want names of files and folders with only unaccented letters, digits and the characters . _ -, and without two dots in a row", where, target)
	}
	return target, nil
}
