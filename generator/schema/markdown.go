package schema

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/trainyard/trainyard/generator/evaluate"
)

const markdownHead = `# The platform document

A platform is described by one document, YAML, JSON or CUE, of at most 1 MiB for each of its
[layers](documents.md). ` + "`trainyard vet`" + ` checks it and reports every problem at once, and [an editor](editors.md) shows many of them while you type. This
page is the output of ` + "`trainyard schema --format markdown`" + `; ` + "`make update`" + ` writes it.

NAME stands for a key that you choose, [] for an item of a list. Fields in **bold** are required in their mapping.
A default applies unless another field changes it, as its meaning explains.

| field | value | default | meaning | source |
|---|---|---|---|---|
`

// writeMarkdown writes the reference with a row for each field.
func writeMarkdown(e *evaluate.Evaluator, _ bool) ([]byte, error) {
	var b strings.Builder
	b.WriteString(markdownHead)
	for _, f := range describeFields(e.Schema(), "") {
		path := "`" + f.Path + "`"
		if f.Required {
			path = "**" + path + "**"
		}
		fmt.Fprintf(&b, "| %s | %s | %s | %s | %s |\n", path, cell(f.Want), cell(defaultText(f)), cell(f.Doc), cell(f.Source))
	}
	return []byte(b.String()), nil
}

// defaultText writes a default as YAML flow syntax.
func defaultText(f Field) string {
	switch f.Default.(type) {
	case nil:
		return ""
	case string:
		return fmt.Sprint(f.Default)
	}
	text, _ := json.Marshal(f.Default) // plain data always marshals
	return strings.NewReplacer(`"`, "", ":", ": ").Replace(string(text))
}

// cell escapes characters that Markdown tables or HTML would interpret.
func cell(text string) string {
	return strings.NewReplacer("|", `\|`, "<", "&lt;").Replace(text)
}
