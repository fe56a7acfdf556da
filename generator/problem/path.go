package problem

import (
	"strings"

	"github.com/trainyard/trainyard/api/message"
)

// Path joins keys to a path such as spec.runtimes.a.env.HOME. Ambiguous keys, such as keys with a dot, are quoted.
func Path(keys []string) string {
	shown := make([]string, len(keys))
	for i, key := range keys {
		if shown[i] = key; !message.Plain(key) {
			shown[i] = message.Quote(key)
		}
	}
	return strings.Join(shown, ".")
}
