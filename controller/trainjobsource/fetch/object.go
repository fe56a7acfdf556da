package fetch

import (
	"bytes"
	"errors"
	"regexp"
	"slices"
	"strings"

	"github.com/go-git/go-git/v5/plumbing"
)

// commit is a parsed commit. The functions of this file accept a commit or a tag only in the form that Git
// writes. Therefore every program reads the same values from a commit or tag, and the signature covers
// exactly the values that trainyard uses.
type commit struct {
	tree      plumbing.Hash
	parents   []plumbing.Hash
	signature string // armored; empty without a signature
	signed    []byte // the text that the signature covers
}

// header is a field of a commit or tag, with all its lines.
type header struct{ key, value, raw string }

var errMalformed = errors.New("the commit or tag is malformed")

// splitHeaders splits a commit or tag into its headers and its message.
func splitHeaders(data []byte) (headers []header, message string, err error) {
	head, message, found := strings.Cut(string(data), "\n\n")
	if !found || bytes.IndexByte(data, 0) >= 0 {
		return nil, "", errMalformed
	}
	for line := range strings.SplitSeq(head, "\n") {
		if more, continues := strings.CutPrefix(line, " "); continues && len(headers) > 0 {
			last := &headers[len(headers)-1]
			last.value += "\n" + more
			last.raw += line + "\n"
			continue
		}
		key, value, found := strings.Cut(line, " ")
		if !found || key == "" {
			return nil, "", errMalformed
		}
		headers = append(headers, header{key, value, line + "\n"})
	}
	return headers, message, nil
}

// commitOrder is a pattern for a text that consists of the header keys of a commit, each followed by a space. The
// pattern matches only if the text begins with the keys "tree", "author" and "committer", in this order. Any number of
// keys "parent" can stand between "tree" and "author".
var commitOrder = regexp.MustCompile(`^tree (parent )*author committer `)

// unique contains the header keys that may occur at most once in a commit.
var unique = []string{"tree", "author", "committer", "encoding", "gpgsig", "gpgsig-sha256"}

// checkOrder checks that a commit begins with the headers that Git always writes, in Git's order. The headers in the
// list "unique" must not be repeated.
func checkOrder(headers []header) error {
	keys := ""
	for _, h := range headers {
		if slices.Contains(unique, h.key) && strings.Contains(" "+keys, " "+h.key+" ") {
			return errMalformed
		}
		keys += h.key + " "
	}
	start := commitOrder.FindString(keys)
	if start == "" || strings.Contains(keys[len(start)-1:], " parent ") {
		return errMalformed
	}
	return nil
}

func parseCommit(data []byte) (commit, error) {
	headers, message, err := splitHeaders(data)
	if err == nil {
		err = checkOrder(headers)
	}
	if err != nil {
		return commit{}, err
	}
	var c commit
	for _, h := range headers {
		if (h.key == "tree" || h.key == "parent") && !fullHash.MatchString(h.value) {
			return commit{}, errMalformed
		}
		switch h.key {
		case "tree":
			c.tree = plumbing.NewHash(h.value)
		case "parent":
			c.parents = append(c.parents, plumbing.NewHash(h.value))
		case "gpgsig":
			c.signature = h.value
		}
		if h.key != "gpgsig" && h.key != "gpgsig-sha256" { // the signed text does not contain these headers
			c.signed = append(c.signed, h.raw...)
		}
	}
	c.signed = append(c.signed, "\n"+message...)
	return c, nil
}

type tag struct {
	object    plumbing.Hash
	name      string
	signature string // armored; empty without a signature
	signed    []byte // the text that the signature covers
}

// parseTag parses an annotated tag. The signature of a tag is at the end of its message.
func parseTag(data []byte) (tag, error) {
	headers, _, err := splitHeaders(data)
	if err != nil {
		return tag{}, err
	}
	if len(headers) < 3 || headers[0].key != "object" || headers[1].key != "type" || headers[2].key != "tag" || !fullHash.MatchString(headers[0].value) {
		return tag{}, errMalformed
	}
	for _, h := range headers[3:] {
		if h.key == "object" || h.key == "type" || h.key == "tag" {
			return tag{}, errMalformed
		}
	}
	t := tag{object: plumbing.NewHash(headers[0].value), name: headers[2].value, signed: data}
	if i := bytes.LastIndex(data, []byte("\n"+beginSignature)); i >= 0 {
		t.signed, t.signature = data[:i+1], string(data[i+1:])
	}
	return t, nil
}
