package kustomization

import (
	"fmt"
	"path"
	"strings"

	"go.yaml.in/yaml/v3"
)

// allowedFields lists the fields of a kustomization that cannot do harm. Replacements are missing, because each of
// them can double the size of an object.
var allowedFields = map[string]bool{
	"apiVersion": true, "kind": true, "metadata": true,
	"resources": true, "components": true, "patches": true,
	"namePrefix": true, "nameSuffix": true, "namespace": true,
	"labels": true, "commonLabels": true, "commonAnnotations": true, "images": true,
	"sortOptions": true,
}

// patchFields lists the fields of an item of "patches".
var patchFields = map[string]bool{"path": true, "patch": true, "target": true, "options": true}

// replacedFields maps each deprecated field to the field that replaces it.
var replacedFields = map[string]string{
	"bases": "resources", "patchesStrategicMerge": "patches", "patchesJson6902": "patches", "imageTags": "images",
}

// parsed holds the parts of a kustomization file that this package needs.
type parsed struct {
	resources  []reference // resources and components
	patchFiles []reference
	patches    int64
	text       []byte // the file for kustomize, with origin annotations turned on
}

// reference is a path that a kustomization contains.
type reference struct {
	path string
	line int
}

// parse reads a kustomization, and refuses fields that are not allowed.
func parse(file string, text []byte) (parsed, error) {
	var document yaml.Node
	if err := yaml.Unmarshal(text, &document); err != nil {
		return parsed{}, fmt.Errorf("%s: %s", file, strings.TrimPrefix(err.Error(), "yaml: "))
	}
	if err := checkNode(file, &document, 0); err != nil {
		return parsed{}, err
	}
	if len(document.Content) == 0 || document.Content[0].Kind != yaml.MappingNode {
		return parsed{}, fmt.Errorf("%s: want a kustomization, which is a mapping", file)
	}
	root := document.Content[0]
	if err := checkKeys(file, root, allowedFields, "the kustomization of a TrainJobSource"); err != nil {
		return parsed{}, err
	}
	k := parsed{}
	for _, field := range []string{"resources", "components"} {
		k.resources = append(k.resources, references(valueOf(root, field))...)
	}
	if err := k.addPatches(file, valueOf(root, "patches")); err != nil {
		return parsed{}, err
	}
	root.Content = append(root.Content, scalar("buildMetadata"), &yaml.Node{Kind: yaml.SequenceNode, Content: []*yaml.Node{scalar("originAnnotations")}})
	var err error
	k.text, err = yaml.Marshal(&document)
	return k, err
}

// checkKeys refuses a mapping with a key that is not allowed. kustomize ignores the case of letters in keys. checkKeys
// accepts only the usual spelling, because the other checks look only for this spelling.
func checkKeys(file string, mapping *yaml.Node, allowed map[string]bool, where string) error {
	for i := 0; i < len(mapping.Content); i += 2 {
		key := mapping.Content[i]
		if now, replaced := replacedFields[key.Value]; replaced {
			return fmt.Errorf("%s:%d: the field %s is deprecated in kustomize and not allowed here: use %s", file, key.Line, key.Value, now)
		}
		if !allowed[key.Value] {
			return fmt.Errorf("%s:%d: the field %s is not allowed in %s", file, key.Line, key.Value, where)
		}
	}
	return nil
}

// references returns the paths of a list.
func references(list *yaml.Node) []reference {
	if list == nil {
		return nil
	}
	var all []reference
	for _, item := range list.Content {
		all = append(all, reference{item.Value, item.Line})
	}
	return all
}

// addPatches counts the patches, and checks patches that are written in the kustomization itself.
func (k *parsed) addPatches(file string, list *yaml.Node) error {
	if list == nil {
		return nil
	}
	for _, item := range list.Content {
		k.patches++
		if err := checkKeys(file, item, patchFields, "a patch"); err != nil {
			return err
		}
		if file := valueOf(item, "path"); file != nil {
			k.patchFiles = append(k.patchFiles, reference{file.Value, file.Line})
		}
		inline := valueOf(item, "patch")
		if inline == nil {
			continue
		}
		if _, err := checkText(fmt.Sprintf("%s:%d: patch", file, inline.Line), []byte(inline.Value)); err != nil {
			return err
		}
	}
	return nil
}

// resolve returns the path of a file or folder, relative to the root of the tree. kustomize would fetch URLs, so resolve
// allows no character that a URL needs, and no path that kustomize understands as the address of a repository.
func (r reference) resolve(from string) (string, error) {
	where := fmt.Sprintf("%s:%d", from, r.line)
	target := path.Join(path.Dir(from), r.path)
	switch {
	case r.path == "" || strings.ContainsAny(r.path, ":@?\\") || strings.Contains(r.path, "//") || strings.HasPrefix(strings.ToLower(r.path), "github.com"):
		return "", fmt.Errorf("%s: %q: want the path of a file or folder in this repository, because remote resources are not allowed", where, r.path)
	case path.IsAbs(r.path) || target == ".." || strings.HasPrefix(target, "../"):
		return "", fmt.Errorf("%s: %q leads out of the repository", where, r.path)
	}
	return target, nil
}

func scalar(value string) *yaml.Node { return &yaml.Node{Kind: yaml.ScalarNode, Value: value} }
