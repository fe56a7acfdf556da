package document

import (
	"bytes"
	"errors"
	"io"
	"path"
	"strings"
)

// MaxDocuments bounds how many documents a stream may hold, empty ones included.
const MaxDocuments = 1000

// ParseStream reads every Kubernetes object of a YAML stream, or the one of a JSON file,
// in the order of the text; empty documents are passed over. The name decides
// the syntax as in Parse, and Parse's bounds hold for the stream as a whole. Unlike in a document
// of ours, words and numbers are those of YAML 1.1, as for kubectl.
// Its error is a problem.List; documents that come with it are those before
// the first that cannot be read at all.
func ParseStream(name string, text []byte) ([]*Node, error) {
	if err := Check(name, text); err != nil {
		return nil, err
	}
	text = bytes.TrimPrefix(text, []byte("\uFEFF"))
	switch {
	case !strings.EqualFold(path.Ext(name), ".json"):
		return parseStream(name, text)
	case len(bytes.TrimSpace(text)) == 0:
		return nil, nil
	}
	node, err := parseJSON(name, text)
	if node == nil {
		return nil, err
	}
	return []*Node{node}, err
}

func parseStream(name string, text []byte) ([]*Node, error) {
	decoder, err := decoderOf(name, text)
	if err != nil {
		return nil, err
	}
	var found []*Node
	c := newConverter(name, text)
	c.old = true
	for count := 1; ; count++ {
		root, err := readYAML(decoder, name, text)
		switch {
		case errors.Is(err, io.EOF):
			return found, c.problems.Err()
		case err != nil:
			return found, err
		case count > MaxDocuments:
			return found, at(name, root.Line, 1, "more than %d documents", MaxDocuments)
		case len(root.Content) == 0:
			continue
		}
		node := c.convert(root.Content[0], 0)
		if c.stopped {
			return found, c.problems.Err()
		}
		if !node.Empty() {
			found = append(found, node)
		}
	}
}
