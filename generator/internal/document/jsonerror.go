package document

import (
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"github.com/trainyard/trainyard/generator/problem"
)

// explain puts the decoder's complaint at its place.
func (r *jsonReader) explain(err error) error {
	var list problem.List
	if errors.As(err, &list) {
		return list
	}
	if place, ok := conflict(r.file, r.text); ok {
		return at(r.file, place.Line, 1, "not JSON: here begins a conflict that Git could not resolve")
	}
	var syntax *json.SyntaxError
	if !errors.As(err, &syntax) {
		end := endOf(r.file, r.text)
		return at(r.file, end.Line, end.Column, "not JSON: the text ends here, and a bracket or quote is not closed")
	}
	found := invalidCharacter.FindStringSubmatch(syntax.Error())
	if found == nil {
		position := r.next()
		return at(r.file, position.Line, position.Column, "not JSON: %s", oneLine(syntax.Error()))
	}
	position := r.offender(found[1], strings.HasPrefix(found[2], "in string"))
	return at(r.file, position.Line, position.Column, "not JSON: %s", jsonWords(found[1], found[2]))
}

var invalidCharacter = regexp.MustCompile(`^invalid character ('.+'|'"')(?: (.*))?$`)

// offender is where the character stands that the decoder complains of. Its own
// offset sometimes counts that character and sometimes not.
func (r *jsonReader) offender(quoted string, inString bool) problem.Position {
	start := min(int(r.decoder.InputOffset()), len(r.text))
	character, err := strconv.Unquote(quoted)
	if at := strings.Index(string(r.text[start:]), character); err == nil && at >= 0 && !inString {
		return r.position(start + at)
	}
	return r.next()
}

// jsonWords say what is wanted where the decoder found a character.
func jsonWords(found, context string) string {
	if found == `'/'` || found == `'#'` {
		return "comments are not allowed in JSON"
	}
	if strings.HasPrefix(context, "in string escape") || strings.HasPrefix(context, "in \\u") {
		return `this text holds an escape that there is not: write "\\" for a backslash`
	}
	if says, ok := jsonContexts[found+" "+context]; ok {
		return says
	}
	says, ok := jsonContexts[context]
	switch {
	case !ok:
		return fmt.Sprintf("want a value, a text in double quotes, got %s", found)
	case strings.HasPrefix(says, "want"):
		return fmt.Sprintf("%s, got %s", says, found)
	}
	return says
}

// jsonContexts are the decoder's words for where it was, also for a certain character.
var jsonContexts = map[string]string{
	"'}' looking for beginning of object key string": `a comma before "}" is not allowed`,
	"']' looking for beginning of value":             `a comma before "]" is not allowed`,
	"in string literal":                              "the quote that opens here is not closed on its line",
	"looking for beginning of object key string":     "want a key in double quotes",
	"after object key":                               `want ":" and a value behind the key`,
	"after object key:value pair":                    `want "," or "}"`,
	"after array element":                            `want "," or "]"`,
}
