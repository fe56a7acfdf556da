package main

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"sync"

	"github.com/trainyard/trainyard/generator/problem"
)

// pathStep is one step of a path, as a person or the reference of fields writes it.
type pathStep struct {
	text    string // without quotes or brackets
	quoted  bool
	bracket bool // an index in brackets; without text it is any item of a list
}

// chosen stands for a name that a person chooses, in the reference.
const chosen = "NAME"

func (s pathStep) anyName() bool { return s.text == chosen }

func (s pathStep) anyItem() bool { return s.text == "" && s.bracket }

// takes tells whether a step of the reference is what a person wrote.
func (s pathStep) takes(given pathStep) bool {
	switch {
	case s.anyItem():
		return given.bracket || isIndex(given.text)
	case given.bracket:
		return false
	}
	return s.text == given.text || s.anyName()
}

// isIndex tells whether a key is that of a list's item.
func isIndex(key string) bool {
	return key != "" && strings.Trim(key, "0123456789") == ""
}

// maxPath is how long a path may be, in bytes: several times what a document has. Each prefix of it is looked up.
const maxPath = 2000

// stepText is a step, and the dot before it.
var stepText = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^(?:\.?\["((?:[^"\\]|\\.)*)"\]|\.?"((?:[^"\\]|\\.)*)"|\.?\[(-?\d*)\]|\.?([^].\["]+))`)
})

// stepsOf reads a path such as spec.runtimes.mpi.nodeSelector."a.b/c", tolerations[0] or tolerations[]. A dot at its
// end, which completion leaves there, says nothing.
func stepsOf(path string) ([]pathStep, error) {
	if len(path) > maxPath {
		return nil, &usageError{fmt.Errorf("field %s: want a path of at most %d characters, got %d", problem.Quote(path), maxPath, len(path))}
	}
	var steps []pathStep
	for rest := path; rest != "" && (rest != "." || len(steps) == 0); {
		m := stepText().FindStringSubmatch(rest)
		if m == nil || len(steps) == 0 && m[0][0] == '.' {
			return nil, &usageError{fmt.Errorf(`field %s: want a path such as spec.runtimes.NAME, nodeSelector."a.b/c" or tolerations[0]`, problem.Quote(path))}
		}
		rest = rest[len(m[0]):]
		steps = append(steps, stepOf(m))
	}
	return steps, nil
}

func stepOf(m []string) pathStep {
	if !strings.Contains(m[0], `"`) {
		return pathStep{text: m[3] + m[4], bracket: strings.Contains(m[0], "[")}
	}
	text, err := strconv.Unquote(`"` + m[1] + m[2] + `"`)
	if err != nil { // an escape that Go does not know
		text = m[1] + m[2]
	}
	return pathStep{text: text, quoted: true}
}

// after follows steps along the keys of a value, and returns the keys that are left. A key with dots in it may be
// written without quotes.
func after(steps []pathStep, keys []string) (rest []string, leads bool) {
	if len(steps) == 0 {
		return keys, true
	}
	if len(keys) == 0 {
		return nil, false
	}
	if steps[0].anyItem() && isIndex(keys[0]) {
		return after(steps[1:], keys[1:])
	}
	text := ""
	for n, t := range steps {
		if n > 0 && t.quoted || len(text) > len(keys[0]) {
			break
		}
		if text += t.text; text == keys[0] {
			if rest, leads := after(steps[n+1:], keys[1:]); leads {
				return rest, true
			}
		}
		if t.quoted {
			break
		}
		text += "."
	}
	return nil, false
}

// shown writes steps as our messages write paths.
func shown(steps []pathStep) string {
	var keys []string
	for _, t := range steps {
		keys = append(keys, t.text)
	}
	return problem.Path(keys)
}
