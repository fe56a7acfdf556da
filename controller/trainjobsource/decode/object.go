package decode

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/json" // decodes integers as int64
	"k8s.io/apimachinery/pkg/util/validation"
	kubernetes "sigs.k8s.io/yaml"

	"github.com/trainyard/trainyard/api/v1alpha1"
)

// Job is a TrainJob in a file.
type Job struct {
	File   string
	Line   int // the first line of the object, counted from 1
	Object *unstructured.Unstructured
}

// Name returns the name of the TrainJob.
func (j Job) Name() string { return j.Object.GetName() }

// readObjects reads the TrainJobs of a file. If the file is not valid YAML, no object of the file is read.
func readObjects(file string, text []byte, namespace string) (jobs []Job, problems []Problem) {
	decoder := yaml.NewDecoder(bytes.NewReader(text))
	for {
		var node yaml.Node
		err := decoder.Decode(&node)
		if errors.Is(err, io.EOF) {
			return jobs, problems
		}
		if err != nil {
			return nil, describe(file, 1, err)
		}
		if len(node.Content) == 0 || node.Content[0].Tag == "!!null" {
			continue
		}
		line := node.Content[0].Line
		object, err := decodeNode(node.Content[0])
		if err == nil {
			err = checkObject(object, namespace)
		}
		if err != nil {
			problems = append(problems, describe(file, line, err)...)
			continue
		}
		object.SetNamespace(namespace)
		jobs = append(jobs, Job{file, line, object})
	}
}

// describe converts an error to problems. The YAML library can return several messages in one error. Each message begins
// with the number of a line. A message without a line number gets the number in the argument "line".
func describe(file string, line int, err error) []Problem {
	texts := []string{err.Error()}
	if list := (*yaml.TypeError)(nil); errors.As(err, &list) {
		texts = list.Errors
	}
	var problems []Problem
	for _, text := range texts {
		p := Problem{file, line, strings.TrimPrefix(text, "yaml: ")}
		if number, rest, found := strings.Cut(strings.TrimPrefix(p.Message, "line "), ": "); found {
			if parsed, err := strconv.Atoi(number); err == nil {
				p.Line, p.Message = parsed, rest
			}
		}
		problems = append(problems, p)
	}
	return problems
}

// decodeNode converts a YAML document to an object, as the API server does. It refuses repeated keys. It also refuses
// aliases: a small file can contain 100,000 aliases of one long text, which expand to gigabytes of JSON. The library
// go.yaml.in/yaml reports the line of each mistake, but it reads some values, such as dates, in another way than the API
// server. Therefore, decodeNode uses this library only for the checks, and converts the values with the library that the API
// server uses.
func decodeNode(node *yaml.Node) (*unstructured.Unstructured, error) {
	if node.Kind != yaml.MappingNode {
		return nil, errors.New("want a Kubernetes object, which is a mapping")
	}
	if alias := findAlias(node); alias != nil {
		return nil, fmt.Errorf("line %d: the alias *%s is not allowed: write the value itself", alias.Line, alias.Value)
	}
	var fields map[string]any
	if err := node.Decode(&fields); err != nil {
		return nil, err
	}
	text, err := yaml.Marshal(node)
	if err != nil {
		return nil, err
	}
	if text, err = kubernetes.YAMLToJSON(text); err != nil {
		return nil, err
	}
	object := &unstructured.Unstructured{}
	return object, json.Unmarshal(text, &object.Object)
}

// findAlias returns the first alias of a YAML document, or nil.
func findAlias(node *yaml.Node) *yaml.Node {
	if node.Kind == yaml.AliasNode {
		return node
	}
	for _, child := range node.Content {
		if alias := findAlias(child); alias != nil {
			return alias
		}
	}
	return nil
}

// checkObject checks that an object is a TrainJob with a valid name, that its namespace is empty or the given one, and that
// its metadata has only a name, a namespace, labels and annotations.
func checkObject(object *unstructured.Unstructured, namespace string) error {
	metadata, _ := object.Object["metadata"].(map[string]any)
	switch {
	case object.GetAPIVersion() != v1alpha1.TrainerAPIVersion || object.GetKind() != "TrainJob":
		return fmt.Errorf("%s %s is not allowed: a TrainJobSource applies only TrainJobs of %s", object.GetAPIVersion(), object.GetKind(), v1alpha1.TrainerAPIVersion)
	case object.GetGenerateName() != "" || object.GetName() == "":
		return errors.New("metadata.name is missing: a TrainJob in Git needs a fixed name, and not generateName")
	case object.GetNamespace() != "" && object.GetNamespace() != namespace:
		return fmt.Errorf("metadata.namespace: want %s, which is the namespace of the TrainJobSource, or leave it out; got %s", namespace, object.GetNamespace())
	case len(validation.IsDNS1123Label(object.GetName())) > 0:
		return fmt.Errorf("metadata.name: want at most 63 lower-case letters, digits and \"-\", got %q", object.GetName())
	}
	for key := range metadata {
		switch key {
		case "name", "namespace", "labels", "annotations":
		default:
			return fmt.Errorf("metadata.%s is not allowed: only name, namespace, labels and annotations can be set in Git", key)
		}
	}
	return nil
}
