package document

import (
	"bytes"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v4"

	"github.com/trainyard/trainyard/api/message"
	"github.com/trainyard/trainyard/generator/problem"
)

type syntaxError struct {
	at    problem.Position // where the parser stopped
	start problem.Position // the start of the list, mapping, key or text that contains the error
	found string           // the character at the error; empty at the end of the text
}

// syntaxMessage is trainyard's message for an error of the parser. In the message, {found} stands for the character at
// the error. {line} stands for the line in which the list, mapping, key or text around the error begins.
type syntaxMessage struct {
	text    string
	atEnd   string // if not empty, replaces the message for an error at the end of the text
	atStart bool   // whether the position of the problem is syntaxError.start
}

const (
	missingColon = `want ":", a space and a value after this key`
	missingKey   = "want a key here: indent all keys of a mapping equally, and put text that contains quotes or brackets in quotes; this mapping begins at line {line}"
	cannotBegin  = "{found} cannot begin a value: put the value in quotes"
	tabs         = "tab in indentation: YAML wants spaces"
	openQuote    = "the quote that opens here is never closed"
	openBracket  = "the bracket that opens here is never closed: want "
)

var syntaxMessages = map[string]syntaxMessage{
	"found character that cannot start any token":                  {text: cannotBegin},
	"found a tab character that violates indentation":              {text: tabs},
	"found a tab character where an indentation space is expected": {text: tabs},
	"exceeded max depth of 10000":                                  {text: fmt.Sprintf("mappings and lists are nested more than %d levels deep", MaxDepth)},
	"mapping values are not allowed in this context":               {text: `":" is not allowed here: indent all keys of a mapping equally, and put text that contains ": " in quotes`},
	"did not find expected key":                                    {text: missingKey},
	"did not find expected '-' indicator":                          {text: `want "-" here: indent all items of a list equally`},
	"block sequence entries are not allowed in this context":       {text: `"-" is not allowed here: begin a list on a new line`},
	"could not find expected ':'":                                  {text: missingColon, atStart: true},
	"found unexpected end of stream":                               {text: openQuote, atStart: true},
	"found unexpected document indicator":                          {text: openQuote, atStart: true},
	"did not find expected ',' or ']'":                             {text: `want "," or "]" here, in the brackets that open at line {line}`, atEnd: openBracket + `"]"`},
	"did not find expected ',' or '}'":                             {text: `want "," or "}" here, in the brackets that open at line {line}`, atEnd: openBracket + `"}"`},
	"did not find expected node content":                           {text: "want a value here, got {found}", atEnd: "want a value, got the end of the text: a bracket is not closed"},
	"found unknown escape character":                               {text: `unknown escape in double quotes: use single quotes, or write "\\" for a backslash`},
	"did not find expected <document start>":                       {text: "the document ends before this text: indent all keys of a mapping equally, and close each bracket once"},
	"did not find expected comment or line break":                  {text: `want the end of the line after "|" or ">"`},
	"did not find URI escaped octet":                               {text: "this is not a valid tag: write the value without a tag"},
	"did not find expected alphabetic or numeric character":        {text: `"&" and "*" begin the name of an anchor: put text that begins with "&" or "*" in quotes`},
	"mapping keys are not allowed in this context":                 {text: `"?" is not allowed here: put text that begins with "?" in quotes`},
	"found mixed spaces and tabs in indentation":                   {text: tabs},
	"found undefined tag handle":                                   {text: `"!" begins a tag, which is not supported: put text that begins with "!" in quotes`},
	"found incompatible YAML document":                             {text: "want version 1.1 or 1.2 after %YAML"},
	"did not find expected hexadecimal number":                     {text: "want hexadecimal digits after this escape"},
	"found invalid Unicode character escape code":                  {text: "this escape is not a character"},
}

// String returns the message for an error, with {found} and {line} filled in.
func (m syntaxMessage) String(e syntaxError) string {
	text := m.text
	switch {
	case e.found == "" && m.atEnd != "":
		text = m.atEnd
	case e.found == "\t" && text == cannotBegin:
		return tabs
	case (e.found == "}" || e.found == "]") && text == missingKey:
		text = `{found} has no opening bracket: remove {found}, or write a space between ":" and an opening bracket that directly follows it`
	}
	return strings.NewReplacer("{found}", fmt.Sprintf("%q", e.found), "{line}", fmt.Sprint(e.start.Line)).Replace(text)
}

// yamlError rewrites an error of the YAML parser for the author of the document, and adds the position of
// the error.
func yamlError(name string, text []byte, err error) error {
	var e *yaml.LoadError
	if !errors.As(err, &e) {
		return errorAt(name, 1, 1, "not YAML: %s", oneLine(err.Error()))
	}
	if conflict, ok := mergeConflict(name, text); ok {
		return errorAt(name, conflict.Line, 1, "not YAML: %s", conflictMessage)
	}
	if e.Mark.Line == 0 {
		return forbiddenCharacter(name, text, e.Message)
	}
	position, message := syntaxError{
		at:    problem.Position{File: name, Line: e.Mark.Line, Column: max(e.Mark.Column, 1)},
		start: problem.Position{File: name, Line: e.ContextMark.Line, Column: max(e.ContextMark.Column, 1)},
		found: readCharacter(text, e.Mark.Line, e.Mark.Column),
	}.explain(text, e)
	return errorAt(name, position.Line, position.Column, "not YAML: %s", message)
}

func (s syntaxError) explain(text []byte, e *yaml.LoadError) (problem.Position, string) {
	explained, known := syntaxMessages[e.Message]
	hasStart := s.start.Line > 0 && s.start != s.at
	anchor := unknownAnchor.FindStringSubmatch(e.Message)
	switch {
	case anchor != nil:
		return s.at, fmt.Sprintf(`there is no anchor &%[1]s before *%[1]s: define the anchor earlier, or, if *%[1]s is text, put it in quotes`, message.Shorten(anchor[1], 60))
	case !known:
		return s.at, oneLine(strings.TrimSpace(e.ContextMsg + " " + e.Message))
	case hasStart && (explained.atStart || s.found == ""):
		return s.start, explained.String(s)
	case s.found == "":
		return findEnd(s.at.File, text), explained.String(s)
	}
	if s.found == ":" && s.start.Line == 0 || e.Message == "did not find expected key" {
		if position, hint := indentationHint(text, s.at, s.found); hint != "" {
			return position, hint
		}
	}
	return s.at, explained.String(s) + quoteHint(text, s.at)
}

// forbiddenCharacter searches for the first character that YAML forbids, and reports its position. The parser
// reports such a character without a position.
func forbiddenCharacter(name string, text []byte, message string) error {
	var c cursor
	for offset, r := range string(text) {
		if r < ' ' && r != '\t' && r != '\n' && r != '\r' || r == 0x7F || r > 0x7F && r < 0xA0 && r != 0x85 || r == 0xFFFE || r == 0xFFFF {
			line, column := c.advance(text, offset)
			return errorAt(name, line, column, "not YAML: the character U+%04X is not allowed in text", r)
		}
	}
	return errorAt(name, 1, 1, "not YAML: %s", oneLine(message))
}

const conflictMessage = "Git left a merge conflict here: resolve it"

var (
	unknownAnchor = regexp.MustCompile(`^unknown anchor '(.*)' referenced$`)
	conflictStart = regexp.MustCompile(`(?m)^<<<<<<< .`)
)

func mergeConflict(name string, text []byte) (problem.Position, bool) {
	found := conflictStart.FindIndex(text)
	if found == nil {
		return problem.Position{}, false
	}
	return problem.Position{File: name, Line: bytes.Count(text[:found[0]], []byte("\n")) + 1, Column: 1}, true
}

// readCharacter returns the character at a position, or "" if there is only white space from this position to the end.
func readCharacter(text []byte, line, column int) string {
	lines := bytes.SplitAfterN(text, []byte("\n"), line+1)
	if line > len(lines) {
		return ""
	}
	for range column - 1 {
		_, size := utf8.DecodeRune(lines[line-1])
		lines[line-1] = lines[line-1][size:]
	}
	if len(bytes.TrimSpace(bytes.Join(lines[line-1:], nil))) == 0 {
		return ""
	}
	r, _ := utf8.DecodeRune(lines[line-1])
	return string(r)
}

// findEnd returns the position of the last character that is not white space.
func findEnd(name string, text []byte) problem.Position {
	trimmed := bytes.TrimRight(text, " \t\r\n")
	_, size := utf8.DecodeLastRune(trimmed)
	line, column := new(cursor).advance(text, len(trimmed)-size)
	return problem.Position{File: name, Line: line, Column: column}
}

func oneLine(text string) string {
	return message.Shorten(strings.Join(strings.Fields(text), " "), 200)
}
