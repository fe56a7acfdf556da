package decode

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"

	"go.yaml.in/yaml/v3"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/trainyard/trainyard/controller/trainjobsource/kustomization"
	"github.com/trainyard/trainyard/controller/trainjobsource/safeyaml"
)

// Job is a TrainJob in a file.
type Job struct {
	File   string
	Line   int // the first line of the object, counted from 1
	Object *unstructured.Unstructured
}

// Name returns the name of the TrainJob.
func (j Job) Name() string { return j.Object.GetName() }

// readObjects reads the TrainJobs of a file, and counts the values in the file. If the file is not valid YAML, no object of
// the file is read. If the file has more than maxProblems problems, readObjects does not read the rest of the file.
func readObjects(file string, text []byte, namespace string, maxProblems int) (jobs []Job, problems []Problem, values int) {
	reader := safeyaml.NewReader(text)
	for len(problems) <= maxProblems {
		node, err := reader.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, []Problem{describe(file, 1, err)}, values
		}
		if len(node.Content) == 0 || node.Content[0].Tag == "!!null" {
			continue
		}
		line := node.Content[0].Line
		object, count, err := decodeNode(node.Content[0])
		values += count
		if err == nil {
			err = checkObject(object, namespace)
		}
		if err != nil {
			problems = append(problems, describe(file, line, err))
			continue
		}
		object.SetNamespace(namespace)
		jobs = append(jobs, Job{file, line, object})
	}
	return jobs, problems, values
}

// describe converts an error to a problem. If the error has no line of its own, the problem gets
// the line in the argument "line".
func describe(file string, line int, err error) Problem {
	if mistake := (*safeyaml.MistakeError)(nil); errors.As(err, &mistake) {
		return Problem{file, mistake.Line, mistake.Message}
	}
	return Problem{file, line, err.Error()}
}

// decodeNode converts a YAML document to an object. The result "values" is the number of values in the document.
func decodeNode(node *yaml.Node) (object *unstructured.Unstructured, values int, err error) {
	if node.Kind != yaml.MappingNode {
		return nil, 0, errors.New("want a mapping with the fields of a TrainJob, such as apiVersion and kind")
	}
	if values, err = safeyaml.Check(node); err != nil {
		return nil, values, err
	}
	value, err := safeyaml.Decode(node)
	if err != nil {
		return nil, values, err
	}
	fields, _ := value.(map[string]any)
	return &unstructured.Unstructured{Object: fields}, values, nil
}

// checkObject checks that an object is a TrainJob with a valid name. The namespace of the object must be empty, or must
// equal the argument "namespace". The metadata of the object may contain only a name, a namespace, labels and annotations.
func checkObject(object *unstructured.Unstructured, namespace string) error {
	metadata, _ := object.Object["metadata"].(map[string]any)
	if err := checkTypes(object.Object, metadata); err != nil {
		return err
	}
	if err := kustomization.CheckKind(object.GetAPIVersion(), object.GetKind()); err != nil {
		return err
	}
	switch {
	case object.GetGenerateName() != "" || object.GetName() == "":
		return errors.New("a TrainJob in Git needs metadata.name, and must not have metadata.generateName")
	case object.GetNamespace() != "" && object.GetNamespace() != namespace:
		return fmt.Errorf("metadata.namespace: want the namespace %s of the TrainJobSource, got %s: correct the namespace, or leave it out", namespace, object.GetNamespace())
	case len(validation.IsDNS1123Label(object.GetName())) > 0:
		return fmt.Errorf("metadata.name: want at most 63 lower-case letters, digits and \"-\", starting and ending with a letter or digit, got %q", object.GetName())
	}
	for key, value := range metadata {
		switch {
		case slices.Contains([]string{"name", "namespace", "labels", "annotations"}, key):
		case value == nil: // kubectl --dry-run writes "creationTimestamp: null"
			delete(metadata, key)
		default:
			return fmt.Errorf("metadata.%s is not allowed: only name, namespace, labels and annotations can be set in Git", key)
		}
	}
	return nil
}

// checkTypes checks the types of the fields that the controller itself reads. The controller reads most of these fields
// with methods of unstructured.Unstructured, which return an empty value if a field has a wrong type. Without the
// check, the controller would therefore treat a field with a wrong type as an empty field. For example, the controller
// could create a TrainJob without labels, although the object in Git has labels.
func checkTypes(fields, metadata map[string]any) error {
	for _, field := range []string{"metadata", "spec"} {
		if _, isMapping := fields[field].(map[string]any); fields[field] != nil && !isMapping {
			return fmt.Errorf("%s: want a mapping", field)
		}
	}
	for _, field := range []string{"name", "namespace", "generateName"} {
		if _, isString := metadata[field].(string); metadata[field] != nil && !isString {
			return fmt.Errorf("metadata.%s: want a string: %s", field, quoteAdvice(metadata[field]))
		}
	}
	for _, field := range []string{"labels", "annotations"} {
		if err := checkStrings(field, metadata[field]); err != nil {
			return err
		}
	}
	return nil
}

// checkStrings checks that a field of the metadata is empty or a mapping of strings.
func checkStrings(field string, value any) error {
	values, isMapping := value.(map[string]any)
	if value != nil && !isMapping {
		return fmt.Errorf("metadata.%s: want a mapping", field)
	}
	for _, key := range slices.Sorted(maps.Keys(values)) {
		if _, isString := values[key].(string); !isString {
			return fmt.Errorf("metadata.%s: the value of %q is not a string: %s", field, key, quoteAdvice(values[key]))
		}
	}
	return nil
}

// quoteAdvice says how to write a value as a string.
func quoteAdvice(value any) string {
	switch value.(type) {
	case nil:
		return `write "" for an empty string`
	case map[string]any, []any:
		return "write a string instead of a mapping or list"
	}
	return "put it in quotes"
}
