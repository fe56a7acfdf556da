package workload

import "regexp"

var entry = regexp.MustCompile(`(?m)^catalogue: "([^"]+)": \{$`)

func catalogueName(text string) (string, bool) {
	m := entry.FindStringSubmatch(text)
	if m == nil {
		return "", false
	}
	return m[1], true
}
