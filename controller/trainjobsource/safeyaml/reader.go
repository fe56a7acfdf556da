package safeyaml

import (
	"bytes"
	"errors"
	"io"
	"regexp"

	"go.yaml.in/yaml/v3"
)

// Reader reads the YAML documents of a text one after the other.
type Reader struct {
	text    []byte
	decoder *yaml.Decoder
	begun   bool
}

// NewReader returns a Reader of a text.
func NewReader(text []byte) *Reader {
	return &Reader{text: text, decoder: yaml.NewDecoder(bytes.NewReader(text))}
}

// Next returns the next document, or io.EOF after the last one. All errors of Next except io.EOF are of the type
// *MistakeError. A document without content has no nodes.
func (r *Reader) Next() (*yaml.Node, error) {
	if !r.begun {
		if err := checkDirectives(r.text); err != nil {
			return nil, err
		}
		r.begun = true
	}
	document := &yaml.Node{}
	err := r.decoder.Decode(document)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, parseError(r.text, err)
	}
	return document, err
}

// tagDirective matches the directive %TAG at the start of a line. In YAML, characters other than \n can also end a line.
var tagDirective = regexp.MustCompile(`(?:^|[\n\r\x{85}\x{2028}\x{2029}\x{feff}])%TAG`)

// checkDirectives refuses a text with the directive %TAG, because tags are not allowed. Many %TAG directives would also
// make the YAML library very slow: the time grows with the square of the number of directives. The regular expression
// tagDirective does not match %TAG in UTF-16 text. Therefore checkDirectives also refuses every text that begins with a
// byte order mark of UTF-16.
func checkDirectives(text []byte) error {
	if at := tagDirective.FindIndex(text); at != nil {
		return &MistakeError{1 + bytes.Count(text[:at[1]], []byte("\n")), "the directive %TAG is not allowed"}
	}
	if bytes.HasPrefix(text, []byte("\xff\xfe")) || bytes.HasPrefix(text, []byte("\xfe\xff")) {
		return &MistakeError{1, "the text must be UTF-8"}
	}
	return nil
}
