package workload

import "regexp"

var entry = regexp.MustCompile(`(?m)^catalogue: "([^"]+)": \{$`)

// catalogued reads the name of the runtime that a file of the catalogue adds.
func catalogued(text string) (string, bool) {
	m := entry.FindStringSubmatch(text)
	if m == nil {
		return "", false
	}
	return m[1], true
}
