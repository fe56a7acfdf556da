package main

import (
	"bytes"
	"errors"
	"io"
	"slices"

	"go.yaml.in/yaml/v4"
	kubernetes "sigs.k8s.io/yaml"
)

// itemTexts are the items as they are written, with comments and in their order of keys. Those with
// aliases, which may stand for something outside of the list, are written anew.
func itemTexts(list []byte, items []map[string]any) ([]*yaml.Node, error) {
	var document yaml.Node
	var written []*yaml.Node
	decoder := yaml.NewDecoder(bytes.NewReader(list))
	if err := decoder.Decode(&document); err == nil {
		written = itemsOf(&document)
		if err := alone(decoder); err != nil {
			return nil, err
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

// alone sees that nothing follows a document but empty ones: it would be lost.
func alone(decoder *yaml.Decoder) error {
	for {
		var next yaml.Node
		err := decoder.Decode(&next)
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil || len(next.Content) > 0 && next.Content[0].ShortTag() != "!!null":
			return errors.New("want one YAML document, got more")
		}
	}
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
	metadata, _ := object["metadata"].(map[string]any)
	return &resourceRef{textIn(object, "apiVersion"), textIn(object, "kind"), textIn(metadata, "name"), textIn(metadata, "namespace")}
}

// textIn is the text that a mapping has for a key; empty if it has none.
func textIn(mapping map[string]any, key string) string {
	text, _ := mapping[key].(string)
	return text
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
