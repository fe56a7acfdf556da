package bench

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"

	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/yaml"
)

// objects are digests of objects, without order of keys, white space and syntax,
// by environment, kind, namespace and name.
type objects map[string][sha256.Size]byte

// reader reads objects. Texts that it has seen before it does not parse again.
type reader struct {
	seen map[[sha256.Size]byte]parsed
}

type parsed struct {
	id     string
	digest [sha256.Size]byte
}

// add reads files of YAML into a set, which an object may join once.
func (r *reader) add(set objects, environment string, files ...string) error {
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		if err := r.addText(set, environment, text); err != nil {
			return fmt.Errorf("%s: %w", file, err)
		}
	}
	return nil
}

func (r *reader) addText(set objects, environment string, text []byte) error {
	for stream := utilyaml.NewYAMLReader(bufio.NewReader(bytes.NewReader(text))); ; {
		document, err := stream.Read()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("reading objects: %w", err)
		}
		p, err := r.parse(document)
		if err != nil {
			return fmt.Errorf("reading an object: %w", err)
		}
		id := environment + " " + p.id
		if _, twice := set[id]; twice {
			return fmt.Errorf("%s is there twice", id)
		}
		set[id] = p.digest
	}
}

// parse reads one object.
func (r *reader) parse(document []byte) (parsed, error) {
	key := sha256.Sum256(document)
	if p, ok := r.seen[key]; ok {
		return p, nil
	}
	text, err := canonical(document)
	if err != nil {
		return parsed{}, err
	}
	var o struct {
		Kind     string
		Metadata struct{ Namespace, Name string }
	}
	if err := json.Unmarshal(text, &o); err != nil {
		return parsed{}, err
	}
	p := parsed{fmt.Sprintf("%s %s/%s", o.Kind, o.Metadata.Namespace, o.Metadata.Name), sha256.Sum256(text)}
	if r.seen == nil {
		r.seen = map[[sha256.Size]byte]parsed{}
	}
	r.seen[key] = p
	return p, nil
}

// canonical is an object as JSON with sorted keys, also in annotations that are
// JSON themselves: CUE writes fields in the order in which it meets them.
func canonical(document []byte) ([]byte, error) {
	text, err := yaml.YAMLToJSON(document)
	if err != nil {
		return nil, err
	}
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	var o map[string]any
	if err := decoder.Decode(&o); err != nil {
		return nil, err
	}
	metadata, _ := o["metadata"].(map[string]any)
	annotations, _ := metadata["annotations"].(map[string]any)
	for name, value := range annotations {
		var inner map[string]any
		if s, _ := value.(string); json.Unmarshal([]byte(s), &inner) == nil {
			annotations[name] = inner
		}
	}
	return json.Marshal(o)
}

// differs says how a set is not the one that it should be.
func differs(want, got objects) error {
	for _, id := range slices.Sorted(maps.Keys(want)) {
		digest, ok := got[id]
		if !ok {
			return fmt.Errorf("%s is missing (%d objects, want %d)", id, len(got), len(want))
		}
		if digest != want[id] {
			return fmt.Errorf("%s is another object", id)
		}
	}
	for _, id := range slices.Sorted(maps.Keys(got)) {
		if _, ok := want[id]; !ok {
			return fmt.Errorf("%s should not be there", id)
		}
	}
	return nil
}
