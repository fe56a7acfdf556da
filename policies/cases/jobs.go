package cases

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/yaml"
)

// Jobs reads the TrainJobs of a stream of YAML documents. Anything else in it is an error, and so is none.
func Jobs(text []byte) ([]map[string]any, error) {
	var jobs []map[string]any
	for documents := utilyaml.NewYAMLReader(bufio.NewReader(bytes.NewReader(text))); ; {
		document, err := documents.Read()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, err
		}
		text, err := yaml.YAMLToJSONStrict(document)
		if err != nil {
			return nil, err
		}
		if string(text) == "null" {
			continue
		}
		var job unstructured.Unstructured
		if err := job.UnmarshalJSON(text); err != nil {
			return nil, err
		}
		if job.GetKind() != "TrainJob" {
			return nil, fmt.Errorf("want TrainJobs, got %s %s", job.GetKind(), job.GetName())
		}
		jobs = append(jobs, job.Object)
	}
	if len(jobs) == 0 {
		return nil, errors.New("want TrainJobs, got none")
	}
	return jobs, nil
}
