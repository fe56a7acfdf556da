package problem

import (
	"strings"

	"github.com/trainyard/trainyard/api/message"
)

// Path joins keys to a path such as spec.runtimes.a.env.HOME. Path puts a key in quotes if the key would make the
// path ambiguous, for example a key with a dot.
func Path(keys []string) string {
	shown := make([]string, len(keys))
	for i, key := range keys {
		if shown[i] = key; !message.Plain(key) {
			shown[i] = message.Quote(key)
		}
	}
	return strings.Join(shown, ".")
}
