package generator

import (
	"encoding/json"
	"fmt"
	"strings"
)

const markdownHead = `# The platform document

A platform is described by one document, YAML, JSON or CUE, of at most 1 MiB for each of its
[layers](documents.md). ` + "`trainyard vet`" + ` checks it and reports every problem at once, and [an editor](editors.md) many of them. This
page is what ` + "`trainyard schema --format markdown`" + ` prints; ` + "`make update`" + ` writes it.

NAME stands for a key that you choose, [] for an item of a list. Fields in **bold** are required in the mapping that holds
them. A default holds where nothing else in the document, as the meaning says, asks for another.

| field | value | default | meaning | source |
|---|---|---|---|---|
`

// writeMarkdown writes the reference, a row for each field.
func writeMarkdown(_ *Pipeline, e *engine, _ whole) ([]byte, error) {
	var b strings.Builder
	b.WriteString(markdownHead)
	for _, f := range describeFields(e.schema, "") {
		path := "`" + f.Path + "`"
		if f.Required {
			path = "**" + path + "**"
		}
		fmt.Fprintf(&b, "| %s | %s | %s | %s | %s |\n", path, cell(f.Want), cell(defaultText(f)), cell(f.Doc), cell(f.Source))
	}
	return []byte(b.String()), nil
}

// defaultText writes a default as a person would in YAML.
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

// cell escapes what would end a table's cell or start an element.
func cell(text string) string {
	return strings.NewReplacer("|", `\|`, "<", "&lt;").Replace(text)
}
