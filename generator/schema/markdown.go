package schema

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/trainyard/trainyard/generator/evaluate"
)

const markdownHead = `# The platform document

One document in YAML, JSON or CUE describes a platform. Each of its [layers](documents.md) can have at most 1 MiB.
` + "`trainyard vet`" + ` checks the document and reports all [independent problems](documents.md#mistakes) together.
[An editor](editors.md) shows many of these problems while you type. This page is the output of
` + "`trainyard schema --format markdown`" + `, and ` + "`make update`" + ` writes the page.

In the column "field", NAME stands for a key that you choose, and [] stands for an item of a list. A field in **bold**
is required: a document that contains the mapping of the field must set the field. If the default of a field depends on
the value of another field, the column "meaning" explains the default. Some limits of a field are based on a rule of
another project. The column "source" names this rule.

| field | value | default | meaning | source |
|---|---|---|---|---|
`

func writeMarkdown(e *evaluate.Evaluator, _ bool) ([]byte, error) {
	var b strings.Builder
	b.WriteString(markdownHead)
	for _, f := range describeFields(e.Schema(), "") {
		path := "`" + f.Path + "`"
		if f.Required {
			path = "**" + path + "**"
		}
		fmt.Fprintf(&b, "| %s | %s | %s | %s | %s |\n", path, escapeCell(f.Want), escapeCell(defaultText(f)), escapeCell(f.Doc), escapeCell(f.Source))
	}
	return []byte(b.String()), nil
}

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

// escapeCell escapes characters that Markdown tables or HTML would interpret.
func escapeCell(text string) string {
	return strings.NewReplacer("|", `\|`, "<", "&lt;").Replace(text)
}
