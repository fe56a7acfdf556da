package document

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"

	"github.com/trainyard/trainyard/generator/problem"
)

// wire is a Node on its way from one process to another.
type wire struct {
	Line   int      `json:"l"`
	Column int      `json:"c"`
	Keys   []string `json:"k,omitempty"` // of a mapping
	Items  []wire   `json:"i,omitempty"` // of a list or, in the order of the keys, of a mapping
	Kind   Kind     `json:"m,omitempty"`
	Text   *string  `json:"t,omitempty"` // a scalar, by its kind
	Int    *int64   `json:"n,omitempty"`
	Float  *float64 `json:"f,omitempty"`
	Bool   *bool    `json:"b,omitempty"`
	Bad    bool     `json:"x,omitempty"`
}

// Encode writes a document and what is wrong with it, for Decode to read.
func Encode(w io.Writer, n *Node, problems problem.List) error {
	message := struct {
		Document *wire        `json:"document,omitempty"`
		Problems problem.List `json:"problems,omitempty"`
	}{Problems: problems}
	if n != nil {
		sent := toWire(n)
		message.Document = &sent
	}
	return json.NewEncoder(w).Encode(message)
}

// Decode reads what Encode wrote of a document, all of which stands in one file.
func Decode(file string, text []byte) (*Node, error) {
	var message struct {
		Document *wire        `json:"document"`
		Problems problem.List `json:"problems"`
	}
	decoder := json.NewDecoder(bytes.NewReader(text))
	if err := decoder.Decode(&message); err != nil {
		return nil, fmt.Errorf("reading an evaluated document: %w", err)
	}
	if message.Document == nil {
		return nil, message.Problems.Err()
	}
	return message.Document.node(file), message.Problems.Err()
}

func toWire(n *Node) wire {
	sent := wire{Line: n.Line, Column: n.Column, Kind: n.Kind, Bad: n.Bad}
	for _, f := range n.Fields {
		sent.Keys = append(sent.Keys, f.Key)
		sent.Items = append(sent.Items, toWire(f.Value))
	}
	for _, item := range n.Items {
		sent.Items = append(sent.Items, toWire(item))
	}
	switch scalar := n.Scalar.(type) {
	case string:
		sent.Text = &scalar
	case int64:
		sent.Int = &scalar
	case float64:
		sent.Float = &scalar
	case bool:
		sent.Bool = &scalar
	}
	return sent
}

func (w wire) node(file string) *Node {
	n := &Node{Position: problem.Position{File: file, Line: w.Line, Column: w.Column}, Kind: w.Kind, Bad: w.Bad}
	for i, item := range w.Items {
		below := item.node(file)
		if w.Kind == Mapping && i < len(w.Keys) {
			n.Fields = append(n.Fields, Field{Position: below.Position, Key: w.Keys[i], Value: below})
			continue
		}
		n.Items = append(n.Items, below)
	}
	switch {
	case w.Text != nil:
		n.Scalar = *w.Text
	case w.Int != nil:
		n.Scalar, n.Text = *w.Int, fmt.Sprint(*w.Int)
	case w.Float != nil:
		n.Scalar, n.Text = *w.Float, fmt.Sprint(*w.Float)
	case w.Bool != nil:
		n.Scalar, n.Text = *w.Bool, fmt.Sprint(*w.Bool)
	}
	return n
}
