package main

import (
	"regexp"
	"strconv"
	"strings"
	"sync"

	"github.com/trainyard/trainyard/generator/problem"
)

// pathStep is one step of a path, as a person or the reference of fields writes it.
type pathStep struct {
	text   string // without quotes or brackets; "" is any item of a list
	quoted bool
}

// chosen stands for a name that a person chooses, in the reference.
const chosen = "NAME"

func (s pathStep) anyName() bool { return s.text == chosen }

func (s pathStep) anyItem() bool { return s.text == "" && !s.quoted }

// takes tells whether a step of the reference is what a person wrote.
func (s pathStep) takes(given pathStep) bool {
	return s.text == given.text || s.anyName() || s.anyItem() && isIndex(given.text)
}

// isIndex tells whether a key is that of a list's item.
func isIndex(key string) bool {
	return key != "" && strings.Trim(key, "0123456789") == ""
}

var stepText = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`\["((?:[^"\\]|\\.)*)"\]|"((?:[^"\\]|\\.)*)"|\[(-?\d*)\]|([^.\["]+)`)
})

// stepsOf reads a path such as spec.runtimes.mpi.nodeSelector."a.b/c", tolerations[0] or tolerations[].
func stepsOf(path string) []pathStep {
	var steps []pathStep
	for _, m := range stepText().FindAllStringSubmatch(path, -1) {
		if !strings.Contains(m[0], `"`) {
			steps = append(steps, pathStep{m[3] + m[4], false})
			continue
		}
		text, err := strconv.Unquote(`"` + m[1] + m[2] + `"`)
		if err != nil { // an escape that Go does not know
			text = m[1] + m[2]
		}
		steps = append(steps, pathStep{text, true})
	}
	return steps
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
		if n > 0 && t.quoted {
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
