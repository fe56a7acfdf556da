package bundles

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"

	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/json"
	"sigs.k8s.io/yaml"

	"github.com/trainyard/trainyard/generator/object"
)

// readAll reads the objects of all files but one, which is packaging.
func readAll(files []File, packaging string) (object.Set, error) {
	var objects []object.Object
	for _, f := range files {
		if f.Path == packaging {
			continue
		}
		var err error
		if objects, err = readStream(objects, f); err != nil {
			return object.Set{}, err
		}
	}
	return object.NewSet(objects...)
}

// readStream adds the objects of a YAML stream. Their origin is the file.
func readStream(objects []object.Object, file File) ([]object.Object, error) {
	reader := utilyaml.NewYAMLReader(bufio.NewReader(bytes.NewReader(file.Content)))
	for {
		document, err := reader.Read()
		if errors.Is(err, io.EOF) {
			return objects, nil
		}
		if err != nil {
			return nil, fmt.Errorf("reading %s: %w", file.Path, err)
		}
		o, err := readObject(document, file.Path)
		if err != nil {
			return nil, fmt.Errorf("reading %s: %w", file.Path, err)
		}
		objects = append(objects, o)
	}
}

func readObject(document []byte, path string) (object.Object, error) {
	text, err := yaml.YAMLToJSONStrict(document)
	if err != nil {
		return object.Object{}, err
	}
	var fields map[string]any
	if err := json.UnmarshalCaseSensitivePreserveInts(text, &fields); err != nil {
		return object.Object{}, err
	}
	return object.New(fields, object.Origin{Input: path}, nil)
}
