package document

import (
	"bytes"
	"encoding/gob"
	"fmt"
	"io"

	"github.com/trainyard/trainyard/generator/problem"
)

type result struct {
	Document *Node
	Problems problem.List
}

// Encode writes a document and its problems, which another process reads with Decode. Encode removes the file name from
// all positions of the document, to shorten the output.
func Encode(w io.Writer, n *Node, problems problem.List) error {
	if n != nil {
		n.setFile("")
	}
	return gob.NewEncoder(w).Encode(result{n, problems})
}

// Decode reads a text that Encode wrote. The text contains a document and its problems. Decode sets the given file name
// in all positions of the document. If the text contains problems, the error is a problem.List. If the text is
// unreadable, the error has another type.
func Decode(file string, text []byte) (*Node, error) {
	var m result
	if err := gob.NewDecoder(bytes.NewReader(text)).Decode(&m); err != nil {
		return nil, fmt.Errorf("reading an evaluated document: %w", err)
	}
	if m.Document != nil {
		m.Document.setFile(file)
	}
	return m.Document, m.Problems.Err()
}

func (n *Node) setFile(file string) {
	n.File = file
	for i := range n.Fields {
		n.Fields[i].File = file
		n.Fields[i].Value.setFile(file)
	}
	for _, item := range n.Items {
		item.setFile(file)
	}
}
