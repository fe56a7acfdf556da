package main

import (
	"regexp"
	"strconv"
	"strings"

	"github.com/trainyard/trainyard/generator/problem"
)

// pathStep is one step of a path, as a person writes it.
type pathStep struct {
	text   string // without quotes or brackets; "" is any item of a list
	quoted bool
}

var stepText = regexp.MustCompile(`\["((?:[^"\\]|\\.)*)"\]|"((?:[^"\\]|\\.)*)"|\[(-?\d*)\]|([^.\["]+)`)

// stepsOf reads a path such as spec.runtimes.mpi.nodeSelector."a.b/c", tolerations[0] or tolerations[].
func stepsOf(path string) []pathStep {
	var steps []pathStep
	for _, m := range stepText.FindAllStringSubmatch(path, -1) {
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
	if steps[0].text == "" && !steps[0].quoted && index.MatchString(keys[0]) {
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
