package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"

	sigsjson "sigs.k8s.io/json"
	"sigs.k8s.io/kustomize/kyaml/fn/framework"
	"sigs.k8s.io/kustomize/kyaml/kio"
	"sigs.k8s.io/kustomize/kyaml/yaml"
	kubernetes "sigs.k8s.io/yaml"

	"github.com/trainyard/trainyard/generator/problem"
)

// maxInput is the maximum size of standard input, in bytes. The program checks the size before it parses
// the input.
const maxInput = 64 << 20

// apiVersions are the supported versions of ResourceList. The output has the same apiVersion as the input.
// Source: kustomize, cmd/config/docs/api-conventions/functions-spec.md.
var apiVersions = []string{kio.ResourceListAPIVersion, "config.kubernetes.io/v1beta1"}

// resourceList is the input of the function. The method "process" turns the input of the function into
// the output of the function.
type resourceList struct {
	framework.ResourceList
	stream kio.ByteReadWriter
}

// header contains the fields whose types kyaml does not check. parseHeader checks these types.
type header struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	Items      []*struct {
		APIVersion string `json:"apiVersion"`
		Kind       string `json:"kind"`
		Metadata   struct {
			Name        string         `json:"name"`
			Namespace   string         `json:"namespace"`
			Labels      map[string]any `json:"labels"`
			Annotations map[string]any `json:"annotations"`
		} `json:"metadata"`
	} `json:"items"`
	FunctionConfig map[string]any `json:"functionConfig"`
}

// readList reads exactly one ResourceList.
func readList(in io.Reader) (*resourceList, error) {
	text, err := io.ReadAll(io.LimitReader(in, maxInput+1))
	if err != nil {
		return nil, fmt.Errorf("reading standard input: %w", err)
	}
	if len(text) > maxInput {
		return nil, fmt.Errorf("standard input has more than %d MiB", maxInput>>20)
	}
	if len(bytes.TrimSpace(text)) == 0 {
		return nil, errors.New("standard input is empty: want a ResourceList from kustomize or kpt; --help has an example")
	}
	head, err := parseHeader(text)
	if err != nil {
		return nil, errors.New("standard input is no ResourceList: " + strings.Join(strings.Fields(err.Error()), " "))
	}
	if head.Kind != kio.ResourceListKind || !slices.Contains(apiVersions, head.APIVersion) {
		return nil, fmt.Errorf("want apiVersion %s and kind ResourceList on standard input, got apiVersion %q and kind %q", apiVersions[0], head.APIVersion, head.Kind)
	}
	l := &resourceList{stream: kio.ByteReadWriter{Reader: bytes.NewReader(text), OmitReaderAnnotations: true, KeepReaderAnnotations: true}}
	if err := l.read(len(head.Items)); err != nil {
		return nil, errors.New("standard input is no ResourceList: " + strings.Join(strings.Fields(err.Error()), " "))
	}
	return l, nil
}

// documentMarker matches a YAML document marker ("---" or "...") at the start of any line except the first. The
// program refuses input with such a marker, because kyaml ignores the text after some markers.
var documentMarker = regexp.MustCompile("[\n\r\u0085\u2028\u2029](---|\\.\\.\\.)")

// parseHeader makes checks that kyaml lacks. It refuses duplicate keys, further documents, aliases that expand to too
// much data, and fields of a wrong type, for example in metadata.
func parseHeader(text []byte) (head header, err error) {
	if documentMarker.Match(bytes.TrimSpace(text)) {
		return head, errors.New("want one YAML document, in which no line after the first begins with the marker \"---\" or \"...\"")
	}
	plain, err := kubernetes.YAMLToJSONStrict(text)
	if err != nil {
		return head, err
	}
	if err := sigsjson.UnmarshalCaseSensitivePreserveInts(plain, &head); err != nil {
		path, message := problem.DecodeError(err)
		return head, errors.New(strings.TrimPrefix(path+": "+message, ": "))
	}
	if i := slices.Index(head.Items, nil); i >= 0 {
		return head, fmt.Errorf("items.%d: want a mapping, got null", i)
	}
	return head, nil
}

// read parses the items and the functionConfig. The method replaces each YAML alias by a copy of the value to which the
// alias refers. The copies are necessary because toJSON converts each item separately, and an alias can refer to a
// value in another item.
func (l *resourceList) read(items int) error {
	var err error
	if l.Items, err = l.stream.Read(); err != nil {
		return err
	}
	if len(l.Items) != items {
		return errors.New("items: want a list that is not a YAML alias")
	}
	l.FunctionConfig, l.stream.FunctionConfig = l.stream.FunctionConfig, nil
	for _, node := range append(slices.Clone(l.Items), l.FunctionConfig) {
		if node != nil {
			err = errors.Join(err, node.DeAnchor())
		}
	}
	return err
}

func (l *resourceList) write(to io.Writer) error {
	l.stream.Writer, l.stream.Results = to, nil
	if len(l.Results) > 0 {
		text, err := yaml.Marshal(l.Results)
		if err != nil {
			return fmt.Errorf("writing results: %w", err)
		}
		if l.stream.Results, err = yaml.Parse(string(text)); err != nil {
			return fmt.Errorf("writing results: %w", err)
		}
	}
	if err := l.stream.Write(l.Items); err != nil {
		return fmt.Errorf("writing the ResourceList: %w", err)
	}
	return nil
}

// toJSON converts an object to JSON, and interprets YAML values as Kubernetes does.
func toJSON(object *yaml.RNode) ([]byte, error) {
	text, err := object.String()
	if err != nil {
		return nil, err
	}
	return kubernetes.YAMLToJSON([]byte(text))
}

// localConfigAnnotation marks objects that are not applied to a cluster, for example a functionConfig in the list of
// items.
const localConfigAnnotation = "config.kubernetes.io/local-config"

func isLocal(object *yaml.RNode) bool {
	return object.GetAnnotations()[localConfigAnnotation] == "true"
}
