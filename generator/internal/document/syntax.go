package document

import (
	"bytes"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v4"

	"github.com/trainyard/trainyard/generator/problem"
)

// stumble is where a parser stopped, and what it was reading there.
type stumble struct {
	at, since problem.Position // since is where the list, mapping, key or text begins that it was in
	found     string           // the character that it stopped at; empty at the end of the text
}

// syntaxWords say what the parser's messages mean to the author of a document.
// Where begun is set, the place to mend is the beginning.
var syntaxWords = map[string]struct {
	begun bool
	words func(stumble) string
}{
	"found character that cannot start any token":                  {words: cannotStart},
	"found a tab character that violates indentation":              {words: says(tabs)},
	"found a tab character where an indentation space is expected": {words: says(tabs)},
	"exceeded max depth of 10000":                                  {words: says(fmt.Sprintf("more than %d mappings and lists inside each other", MaxDepth))},
	"mapping values are not allowed in this context":               {words: says(`":" is not allowed here: indent the keys of a mapping alike, and put text that holds ": " in quotes`)},
	"did not find expected key":                                    {words: noKey},
	"did not find expected '-' indicator":                          {words: says(`want "-" here: the items of a list begin alike`)},
	"block sequence entries are not allowed in this context":       {words: says(`"-" is not allowed here: a list begins on a line of its own`)},
	"could not find expected ':'":                                  {begun: true, words: says(noColon)},
	"found unexpected end of stream":                               {begun: true, words: says("the quote that opens here is never closed")},
	"found unexpected document indicator":                          {begun: true, words: says("the quote that opens here is never closed")},
	"did not find expected ',' or ']'":                             {words: inBrackets("]")},
	"did not find expected ',' or '}'":                             {words: inBrackets("}")},
	"did not find expected node content":                           {words: noContent},
	"found unknown escape character":                               {words: says(`"\" begins an escape in double quotes, and this is none: use single quotes, or "\\"`)},
	"did not find expected <document start>":                       {words: says("the document has ended before this: indent the keys of a mapping alike, and close each bracket once")},
	"did not find expected comment or line break":                  {words: says(`want the end of the line behind "|" or ">"`)},
	"did not find URI escaped octet":                               {words: says("not a tag: write the value without it")},
	"did not find expected alphabetic or numeric character":        {words: says(`"&" and "*" begin the name of an anchor: put text that begins so in quotes`)},
	"mapping keys are not allowed in this context":                 {words: says(`"?" is not allowed here: put text that begins so in quotes`)},
	"found mixed spaces and tabs in indentation":                   {words: says(tabs)},
	"found undefined tag handle":                                   {words: says(`"!" begins a tag, which is not supported: put text that begins so in quotes`)},
	"found incompatible YAML document":                             {words: says("want YAML 1.1 or 1.2")},
	"did not find expected hexadecimal number":                     {words: says("want hexadecimal digits behind this escape")},
	"found invalid Unicode character escape code":                  {words: says("this escape is no character")},
}

const noColon = `want ":", a space and a value behind this key`

const tabs = "tab in indentation: YAML wants spaces"

func says(text string) func(stumble) string {
	return func(stumble) string { return text }
}

func cannotStart(s stumble) string {
	if s.found == "\t" {
		return tabs
	}
	return fmt.Sprintf("%q cannot begin a value: put the value in quotes", s.found)
}

func noContent(s stumble) string {
	if s.found == "" {
		return "the text ends where a value is wanted: a bracket is not closed"
	}
	return fmt.Sprintf("want a value here, got %q", s.found)
}

func noKey(s stumble) string {
	if s.found == "}" || s.found == "]" {
		return fmt.Sprintf(`%q closes no bracket: brackets open behind ": ", with a space`, s.found)
	}
	return fmt.Sprintf("want a key here: indent the keys of a mapping alike, and put text with quotes or brackets in quotes; this mapping begins at line %d", s.since.Line)
}

func inBrackets(end string) func(stumble) string {
	return func(s stumble) string {
		if s.found == "" {
			return fmt.Sprintf(`the bracket that opens here is never closed: want %q`, end)
		}
		return fmt.Sprintf(`want "," or %q here, in the brackets that open at line %d`, end, s.since.Line)
	}
}

// syntaxError puts what the parser says into plain words, at its place.
func syntaxError(name string, text []byte, err error) error {
	var e *yaml.LoadError
	if !errors.As(err, &e) {
		return at(name, 1, 1, "not YAML: %s", oneLine(err.Error()))
	}
	if place, ok := conflict(name, text); ok {
		return at(name, place.Line, 1, "not YAML: here begins a conflict that Git could not resolve")
	}
	if e.Mark.Line == 0 {
		return unreadable(name, text, e.Message)
	}
	s := stumble{
		at:    problem.Position{File: name, Line: e.Mark.Line, Column: max(e.Mark.Column, 1)},
		since: problem.Position{File: name, Line: e.ContextMark.Line, Column: max(e.ContextMark.Column, 1)},
		found: characterAt(text, e.Mark.Line, e.Mark.Column),
	}
	place, says := s.explain(text, e)
	return at(name, place.Line, place.Column, "not YAML: %s", says)
}

// explain says what is wrong, and where to mend it.
func (s stumble) explain(text []byte, e *yaml.LoadError) (problem.Position, string) {
	known, ok := syntaxWords[e.Message]
	if anchor := unknownAnchor.FindStringSubmatch(e.Message); anchor != nil {
		return s.at, fmt.Sprintf(`no anchor &%[1]s stands before *%[1]s; text that begins with "*" belongs in quotes`, problem.Shorten(anchor[1], 60))
	}
	if !ok {
		return s.at, oneLine(strings.TrimSpace(e.ContextMsg + " " + e.Message))
	}
	switch opens := s.since.Line > 0 && s.since != s.at; {
	case opens && (known.begun || s.found == ""):
		return s.since, known.words(s)
	case s.found == "":
		return endOf(s.at.File, text), known.words(s)
	}
	if place, says := continued(text, s.at, s.found); says != "" && (s.found == ":" && s.since.Line == 0 || e.Message == "did not find expected key") {
		return place, says
	}
	return s.at, known.words(s) + openQuote(text, s.at)
}

// unreadable finds the character that the parser refuses without a place.
func unreadable(name string, text []byte, message string) error {
	var c cursor
	for offset, r := range string(text) {
		if r < ' ' && r != '\t' && r != '\n' && r != '\r' || r == 0x7F || r > 0x7F && r < 0xA0 && r != 0x85 || r == 0xFFFE || r == 0xFFFF {
			line, column := c.advance(text, offset)
			return at(name, line, column, "not YAML: the character U+%04X is not allowed in text", r)
		}
	}
	return at(name, 1, 1, "not YAML: %s", oneLine(message))
}

var (
	unknownAnchor = regexp.MustCompile(`^unknown anchor '(.*)' referenced$`)
	conflictStart = regexp.MustCompile(`(?m)^<<<<<<< .`)
)

// conflict finds what Git leaves where it cannot merge.
func conflict(name string, text []byte) (problem.Position, bool) {
	found := conflictStart.FindIndex(text)
	if found == nil {
		return problem.Position{}, false
	}
	return problem.Position{File: name, Line: bytes.Count(text[:found[0]], []byte("\n")) + 1, Column: 1}, true
}

// characterAt is the character at a place, or "" where nothing but white space follows.
func characterAt(text []byte, line, column int) string {
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

// endOf is the place of the last character of a text that is not white space.
func endOf(name string, text []byte) problem.Position {
	var c cursor
	trimmed := bytes.TrimRight(text, " \t\r\n")
	_, size := utf8.DecodeLastRune(trimmed)
	line, column := c.advance(text, len(trimmed)-size)
	return problem.Position{File: name, Line: line, Column: column}
}

// oneLine shortens a message that is not ours.
func oneLine(text string) string {
	return problem.Shorten(strings.Join(strings.Fields(text), " "), 200)
}
