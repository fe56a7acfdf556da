package main

import (
	"regexp"
	"strconv"
	"strings"
	"sync"

	"github.com/trainyard/trainyard/api/message"
)

// In paths of the reference, each of these steps matches more than one key.
const (
	anyName = "NAME" // any key that the author of the document chose
	anyItem = "[]"   // any item of a list
)

// isBracket reports whether a step of a path is an index in brackets.
func isBracket(step string) bool { return strings.HasPrefix(step, "[") }

// isIndex reports whether a key is the index of a list item.
func isIndex(key string) bool { return key != "" && strings.Trim(key, "0123456789") == "" }

// isItem reports whether a step is the index of a list item, with or without brackets.
func isItem(step string) bool { return isBracket(step) || isIndex(step) }

// matches reports whether a step of the reference matches a given step.
func matches(reference, given string) bool {
	if reference == anyItem {
		return isItem(given)
	}
	return !isBracket(given) && (reference == given || reference == anyName)
}

// maxPath is the maximum length of a path in bytes. The length is limited because explain looks up each prefix of a
// path. The maximum is several times the length of the longest path in a document.
const maxPath = 2000

// stepPattern matches one step of a path and the dot before the step. A step has one of the forms ["key"], "key", [0],
// [] and key.
var stepPattern = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^\.?(?:\[("(?:[^"\\]|\\.)*")\]|("(?:[^"\\]|\\.)*")|(\[-?\d*\])|([^].\["]+))`)
})

// parsePath splits a path such as spec.runtimes.mpi.nodeSelector."a.b/c", tolerations[0] or tolerations[] into steps. It
// ignores a trailing dot, which shell completion can leave.
func parsePath(path string) ([]string, error) {
	if len(path) > maxPath {
		return nil, usageErrorf("field %s: want a path of at most %d characters, got %d", message.Quote(path), maxPath, len(path))
	}
	var steps []string
	for rest := path; rest != "" && (rest != "." || len(steps) == 0); {
		m := stepPattern().FindStringSubmatch(rest)
		if m == nil || len(steps) == 0 && m[0][0] == '.' {
			return nil, usageErrorf(`field %s: want a path such as spec.runtimes.NAME, nodeSelector."a.b/c" or tolerations[0]`, message.Quote(path))
		}
		rest = rest[len(m[0]):]
		key, err := strconv.Unquote(m[1] + m[2])
		if err != nil { // not quoted, or with an escape that Go does not know
			key = strings.Trim(m[1]+m[2], `"`)
		}
		steps = append(steps, key+m[3]+m[4])
	}
	return steps, nil
}

// follow compares the steps of a path with the first keys of a value, and returns the remaining keys. ok is false if
// the path does not lead to the value. Several steps can form one key, because users may write a key that contains dots
// without quotes.
func follow(steps, keys []string) (rest []string, ok bool) {
	if len(steps) == 0 {
		return keys, true
	}
	if len(keys) == 0 {
		return nil, false
	}
	if steps[0] == anyItem && isIndex(keys[0]) {
		return follow(steps[1:], keys[1:])
	}
	for n := 1; n <= len(steps); n++ {
		joined := strings.Join(withoutBrackets(steps[:n]), ".")
		if len(joined) > len(keys[0]) {
			break
		}
		if joined == keys[0] {
			if rest, ok := follow(steps[n:], keys[1:]); ok {
				return rest, true
			}
		}
	}
	return nil, false
}

// withoutBrackets turns steps into keys. For example, the step [0] becomes the key 0.
func withoutBrackets(steps []string) []string {
	keys := make([]string, len(steps))
	for i, step := range steps {
		keys[i] = strings.Trim(step, "[]")
	}
	return keys
}
