package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"go.yaml.in/yaml/v4"
	kubernetes "sigs.k8s.io/yaml"

	"github.com/trainyard/trainyard/generator/problem"
)

// maxList bounds what is read before anything is parsed.
const maxList = 64 << 20 // bytes

// listVersions are those that hosts send; the answer has the same.
var listVersions = []string{"config.kubernetes.io/v1", "config.kubernetes.io/v1beta1"}

// resourceList is what a host and a function hand to each other.
// Source: kustomize, cmd/config/docs/api-conventions/functions-spec.md.
type resourceList struct {
	APIVersion     string           `json:"apiVersion"`
	Kind           string           `json:"kind"`
	Items          []map[string]any `json:"items"`
	FunctionConfig map[string]any   `json:"functionConfig,omitempty"`
	Results        []result         `json:"results,omitempty"`

	texts []*yaml.Node // the items as they are written
	made  []byte       // more items, as YAML: those that were generated
}

// result is one thing that a function has to say.
type result struct {
	Message     string       `json:"message"`
	Severity    string       `json:"severity"` // error, warning or info
	ResourceRef *resourceRef `json:"resourceRef,omitempty"`
	Field       *resultField `json:"field,omitempty"`
	File        *resultFile  `json:"file,omitempty"`
	Tags        tags         `json:"tags,omitempty"`
}

type resourceRef struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	Name       string `json:"name"`
	Namespace  string `json:"namespace,omitempty"`
}

type resultField struct {
	Path string `json:"path"`
}

type resultFile struct {
	Path string `json:"path"`
}

type tags map[string]string

// line is a result as a person reads it.
func (r result) line() string {
	var b bytes.Buffer
	if r.File != nil {
		fmt.Fprintf(&b, "%s: ", r.File.Path)
	}
	if r.ResourceRef != nil {
		fmt.Fprintf(&b, "%s: ", strings.TrimSpace(r.ResourceRef.Kind+" "+r.ResourceRef.Name))
	}
	if r.Field != nil {
		fmt.Fprintf(&b, "%s: ", r.Field.Path)
	}
	return b.String() + r.Message
}

// readList reads exactly one ResourceList.
func readList(in io.Reader) (*resourceList, error) {
	text, err := io.ReadAll(io.LimitReader(in, maxList+1))
	if err != nil {
		return nil, fmt.Errorf("reading standard input: %w", err)
	}
	if len(text) > maxList {
		return nil, fmt.Errorf("standard input has more than %d MiB", maxList>>20)
	}
	if len(bytes.TrimSpace(text)) == 0 {
		return nil, errors.New("standard input is empty: want a ResourceList, as kustomize and kpt send it; --help shows how")
	}
	list, err := parseList(text)
	if err != nil {
		return nil, errors.New("standard input is no ResourceList: " + strings.Join(strings.Fields(err.Error()), " "))
	}
	for _, version := range listVersions {
		if list.APIVersion == version && list.Kind == "ResourceList" {
			return list, nil
		}
	}
	return nil, fmt.Errorf("want apiVersion %s and kind ResourceList on standard input, got %q and %q", listVersions[0], list.APIVersion, list.Kind)
}

// parseList reads values as Kubernetes does, and keeps numbers as they are written.
func parseList(text []byte) (*resourceList, error) {
	plain, err := kubernetes.YAMLToJSONStrict(text)
	if err != nil {
		return nil, err
	}
	list := &resourceList{}
	decoder := json.NewDecoder(bytes.NewReader(plain))
	decoder.UseNumber()
	if err := decoder.Decode(list); err != nil {
		path, says := problem.OfJSON(err)
		return nil, errors.New(strings.TrimPrefix(path+": "+says, ": "))
	}
	list.texts, err = itemTexts(text, list.Items)
	return list, err
}

// write writes the list. What was generated is laid out already.
func (l *resourceList) write(to io.Writer) error {
	head := struct {
		APIVersion string   `json:"apiVersion"`
		Kind       string   `json:"kind"`
		Results    []result `json:"results,omitempty"`
	}{l.APIVersion, l.Kind, l.Results}
	text, err := kubernetes.Marshal(head)
	if err != nil {
		return fmt.Errorf("writing the list: %w", err)
	}
	items, err := l.itemsText()
	if err != nil {
		return fmt.Errorf("writing items: %w", err)
	}
	if _, err := to.Write(append(text, items...)); err != nil {
		return fmt.Errorf("writing the list: %w", err)
	}
	return nil
}

func (l *resourceList) itemsText() ([]byte, error) {
	if len(l.texts) == 0 && len(l.made) == 0 {
		return []byte("items: []\n"), nil
	}
	text := []byte("items:\n")
	if len(l.texts) > 0 {
		given, err := yaml.Dump(&yaml.Node{Kind: yaml.SequenceNode, Content: l.texts}, yaml.WithIndent(2), yaml.WithLineWidth(-1))
		if err != nil {
			return nil, err
		}
		text = append(text, given...)
	}
	return append(text, l.made...), nil
}
