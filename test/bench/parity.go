package bench

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"slices"

	"sigs.k8s.io/yaml"

	"github.com/trainyard/trainyard/test/upstream"
)

// objectDigests maps the environment, kind, namespace and name of each object to a digest of its content. Digests do not
// depend on the order of keys, on white space or on the syntax (YAML or JSON).
type objectDigests map[string][sha256.Size]byte

// parser parses the text of objects. parser remembers results, so that it parses equal texts only once.
type parser struct {
	seen map[[sha256.Size]byte]parsed
}

type parsed struct {
	id     string
	digest [sha256.Size]byte
}

// add parses YAML files, and puts their objects into a set. An object that is already in the set
// causes an error.
func (p *parser) add(set objectDigests, environment string, files ...string) error {
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		if err := p.addText(set, environment, text); err != nil {
			return fmt.Errorf("%s: %w", file, err)
		}
	}
	return nil
}

func (p *parser) addText(set objectDigests, environment string, text []byte) error {
	return upstream.EachDocument(text, func(document []byte) error {
		object, err := p.parse(document)
		if err != nil {
			return fmt.Errorf("reading an object: %w", err)
		}
		id := environment + " " + object.id
		if _, twice := set[id]; twice {
			return fmt.Errorf("%s occurs twice", id)
		}
		set[id] = object.digest
		return nil
	})
}

// parse parses one object.
func (p *parser) parse(document []byte) (parsed, error) {
	key := sha256.Sum256(document)
	if o, ok := p.seen[key]; ok {
		return o, nil
	}
	text, err := canonicalJSON(document)
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
	result := parsed{fmt.Sprintf("%s %s/%s", o.Kind, o.Metadata.Namespace, o.Metadata.Name), sha256.Sum256(text)}
	if p.seen == nil {
		p.seen = map[[sha256.Size]byte]parsed{}
	}
	p.seen[key] = result
	return result, nil
}

// canonicalJSON returns an object as JSON with sorted keys. canonicalJSON also sorts keys in annotations that contain
// JSON, because cue and trainyard can write these keys in different orders.
func canonicalJSON(document []byte) ([]byte, error) {
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

// describeDifference returns an error that describes the first difference between two sets.
func describeDifference(want, got objectDigests) error {
	for _, id := range slices.Sorted(maps.Keys(want)) {
		digest, ok := got[id]
		if !ok {
			return fmt.Errorf("%s is missing (%d objects, want %d)", id, len(got), len(want))
		}
		if digest != want[id] {
			return fmt.Errorf("%s differs from the object that trainyard wrote", id)
		}
	}
	for _, id := range slices.Sorted(maps.Keys(got)) {
		if _, ok := want[id]; !ok {
			return fmt.Errorf("%s is unexpected", id)
		}
	}
	return nil
}
