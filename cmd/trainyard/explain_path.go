package main

import (
	"regexp"
	"strconv"
	"strings"
	"sync"

	"github.com/trainyard/trainyard/api/message"
)

// In the paths of fields, the special steps NAME and [] match more than one key.
const (
	anyName = "NAME" // any key that the author of the document chose
	anyItem = "[]"   // any item of a list
)

func isBracket(step string) bool { return strings.HasPrefix(step, "[") }

func isIndex(key string) bool { return key != "" && strings.Trim(key, "0123456789") == "" }

func isItem(step string) bool { return isBracket(step) || isIndex(step) }

func matches(reference, given string) bool {
	if reference == anyItem {
		return isItem(given)
	}
	return !isBracket(given) && (reference == given || reference == anyName)
}

// maxPath is the maximum length of a path in bytes. Longer paths would make "trainyard explain" too slow, because
// the command looks up each prefix of a path. Real paths are shorter.
const maxPath = 2000

// stepPattern matches one step of a path, and the dot before the step if there is one. A step is a key, an index such
// as [0], or a pair of empty brackets. A key can be written without quotes, in quotes, or in quotes and brackets as in
// ["a"].
var stepPattern = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^\.?(?:\[("(?:[^"\\]|\\.)*")\]|("(?:[^"\\]|\\.)*")|(\[-?\d*\])|([^].\["]+))`)
})

// parsePath splits the path of a field into steps. Three examples of such paths are tolerations[0], tolerations[] and
// spec.runtimes.mpi.nodeSelector."a.b/c". A trailing dot, which shell completion can leave, is ignored.
func parsePath(path string) ([]string, error) {
	if len(path) > maxPath {
		return nil, usageErrorf("field %s: want a path of at most %d bytes, got %d", message.Quote(path), maxPath, len(path))
	}
	var steps []string
	for rest := path; rest != "" && (rest != "." || len(steps) == 0); {
		m := stepPattern().FindStringSubmatch(rest)
		if m == nil || len(steps) == 0 && m[0][0] == '.' {
			return nil, usageErrorf(`field %s: want a path such as spec.runtimes.NAME, nodeSelector."a.b/c" or tolerations[0]`, message.Quote(path))
		}
		rest = rest[len(m[0]):]
		key, err := strconv.Unquote(m[1] + m[2])
		if err != nil { // the key is not quoted, or contains an escape that Go does not support
			key = strings.Trim(m[1]+m[2], `"`)
		}
		steps = append(steps, key+m[3]+m[4])
	}
	return steps, nil
}

// follow reports whether the path of a value begins with the path that the user wrote. The argument "keys" is the path
// of the value. The argument "steps" is the path that the user wrote. If the result "ok" is true, the result "rest"
// contains the keys that remain at the end of the value's path. Users may leave out the quotes around a key that
// contains dots. The function parsePath then splits the key at its dots into several steps. Therefore the function
// "follow" compares a key with the next step, then with the next two steps joined by a dot, and so on. For example, the
// two steps a and b together match the key a.b.
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

// withoutBrackets removes the brackets of steps, so that each step becomes a key. For example,
// withoutBrackets turns the step [0] into the key 0.
func withoutBrackets(steps []string) []string {
	keys := make([]string, len(steps))
	for i, step := range steps {
		keys[i] = strings.Trim(step, "[]")
	}
	return keys
}
