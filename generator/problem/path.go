package problem

import (
	"strings"

	"github.com/trainyard/trainyard/api/message"
)

// Path writes keys as spec.runtimes.a.env.HOME, quoting those that would be ambiguous.
func Path(keys []string) string {
	shown := make([]string, len(keys))
	for i, key := range keys {
		if shown[i] = key; !message.Plain(key) {
			shown[i] = message.Quote(key)
		}
	}
	return strings.Join(shown, ".")
}
