package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"slices"

	"go.yaml.in/yaml/v4"
	kubernetes "sigs.k8s.io/yaml"
)

// itemTexts are the items as they are written, with comments and in their order of keys. Those with
// aliases, which may stand for something outside of the list, are written anew.
func itemTexts(list []byte, items []map[string]any) ([]*yaml.Node, error) {
	var document, second yaml.Node
	var written []*yaml.Node
	decoder := yaml.NewDecoder(bytes.NewReader(list))
	if err := decoder.Decode(&document); err == nil {
		written = itemsOf(&document)
		if err := decoder.Decode(&second); !errors.Is(err, io.EOF) && len(second.Content) > 0 {
			return nil, errors.New("want one YAML document, got more")
		}
	}
	texts := make([]*yaml.Node, len(items))
	for i, item := range items {
		if len(written) == len(items) && !refers(written[i]) {
			texts[i] = written[i]
			continue
		}
		text, err := kubernetes.Marshal(item)
		if err != nil {
			return nil, err
		}
		var anew yaml.Node
		if err := yaml.Unmarshal(text, &anew); err != nil {
			return nil, err
		}
		texts[i] = anew.Content[0]
	}
	return texts, nil
}

// itemsOf are the nodes of a list's items; none if they are not written out.
func itemsOf(document *yaml.Node) []*yaml.Node {
	if len(document.Content) == 0 {
		return nil
	}
	root := document.Content[0]
	for i := 0; i+1 < len(root.Content); i += 2 {
		if items := root.Content[i+1]; root.Content[i].Value == "items" && items.Kind == yaml.SequenceNode {
			return items.Content
		}
	}
	return nil
}

// refers tells whether a text takes another in, or is taken in by another.
func refers(n *yaml.Node) bool {
	return n.Kind == yaml.AliasNode || n.Anchor != "" || n.ShortTag() == "!!merge" || slices.ContainsFunc(n.Content, refers)
}

// keep keeps those items of which it is told so.
func (l *resourceList) keep(wanted func(item map[string]any) bool) {
	items, texts := []map[string]any{}, []*yaml.Node{}
	for i, item := range l.Items {
		if wanted(item) {
			items, texts = append(items, item), append(texts, l.texts[i])
		}
	}
	l.Items, l.texts = items, texts
}

// annotation is one of an object's.
func annotation(object map[string]any, key string) string {
	metadata, _ := object["metadata"].(map[string]any)
	annotations, _ := metadata["annotations"].(map[string]any)
	value, _ := annotations[key].(string)
	return value
}

// localAnnotation is on what no cluster gets.
const localAnnotation = "config.kubernetes.io/local-config"

// fromKustomize tells whether an object is one that kustomize sends to a transformer or a validator.
func fromKustomize(object map[string]any) bool {
	return annotation(object, "kustomize.config.k8s.io/id") != ""
}

// local tells what a host keeps for itself, such as the functionConfig among the items.
func local(object map[string]any) bool {
	return annotation(object, localAnnotation) == "true"
}

// refOf names an object.
func refOf(object map[string]any) *resourceRef {
	var read struct {
		APIVersion string
		Kind       string
		Metadata   struct{ Name, Namespace string }
	}
	text, err := json.Marshal(object)
	if err == nil {
		err = json.Unmarshal(text, &read)
	}
	if err != nil {
		return nil
	}
	return &resourceRef{read.APIVersion, read.Kind, read.Metadata.Name, read.Metadata.Namespace}
}

// fileOf is where an object comes from, as far as the host says it.
func fileOf(object map[string]any) *resultFile {
	for _, key := range []string{"internal.config.kubernetes.io/path", "config.kubernetes.io/path"} {
		if path := annotation(object, key); path != "" {
			return &resultFile{path}
		}
	}
	return nil
}
