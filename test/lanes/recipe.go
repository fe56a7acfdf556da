package lanes

import (
	"regexp"
	"strings"
)

var (
	variablePattern = regexp.MustCompile(`\$[({]([A-Z_]+)[)}]`)
	makePattern     = regexp.MustCompile(`(?m)\$\(MAKE\) (?:-\S+ )*([a-z0-9-]+)`)
)

// recipe returns the rule of a target in a Makefile. If the rule calls $(MAKE) for other targets, recipe also returns
// the rules of these targets. The result includes the variables that the returned rules use. The result is empty if the
// Makefile does not have the target.
func recipe(makefile, target string) string {
	text := rules(makefile, target)
	return text + strings.Join(variables(makefile, text, map[string]bool{}), "")
}

// rules returns the rule of a target in a Makefile. If the rule runs make for further targets, the
// result also includes the rules of these targets.
func rules(makefile, target string) string {
	text := regexp.MustCompile(`(?m)^` + regexp.QuoteMeta(target) + `:.*\n(?:\t.*\n)*`).FindString(makefile)
	for _, m := range makePattern.FindAllStringSubmatch(text, -1) {
		text += rules(makefile, m[1])
	}
	return text
}

// variables returns the definitions of the variables that a text uses, directly or indirectly. The map "seen" contains the
// names of variables whose definitions are already found.
func variables(makefile, text string, seen map[string]bool) (found []string) {
	for _, m := range variablePattern.FindAllStringSubmatch(text, -1) {
		if seen[m[1]] {
			continue
		}
		seen[m[1]] = true
		definition := regexp.MustCompile(`(?m)^` + m[1] + ` [?:]?=(?:.*\\\n)*.*\n`).FindString(makefile)
		found = append(append(found, definition), variables(makefile, definition, seen)...)
	}
	return found
}
