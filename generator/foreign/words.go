package foreign

import (
	"strconv"

	"github.com/trainyard/trainyard/generator/internal/document"
	"github.com/trainyard/trainyard/generator/problem"
)

// describe names a node in a message: its value and kind.
func describe(n *document.Node) string {
	switch n.Kind {
	case document.Mapping:
		return "a mapping"
	case document.List:
		return "a list"
	}
	switch scalar := n.Scalar.(type) {
	case string:
		return "the text " + problem.Quote(scalar)
	case bool:
		return strconv.FormatBool(scalar)
	}
	return "the number " + problem.Number(n.Text)
}
