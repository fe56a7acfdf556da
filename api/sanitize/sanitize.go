package sanitize

import (
	"strings"

	"github.com/trainyard/trainyard/api/message"
)

// Text makes a text safe to show. It keeps line breaks. A private key, which spans several lines, becomes one mark.
func Text(text string) string { return message.Printable(replaceSecrets(plain(text))) }

// Line is like Text, but returns one line. It replaces line breaks with spaces, and shortens the line to the given number of
// characters. Secrets are replaced before the line is shortened, because the rest of a secret could not be recognized.
func Line(text string, length int) string {
	return message.Shorten(message.PrintableLine(replaceSecrets(plain(text))), length)
}

// plain removes control sequences first, because a sequence between the characters of a secret would hide the secret.
func plain(text string) string { return message.Printable(text) }

// mark replaces a secret.
const mark = "[secret]"

// replaceSecrets replaces each secret in a text by a mark. It keeps the name of the secret, which helps to understand the
// text.
func replaceSecrets(text string) string {
	lower := strings.ToLower(text)
	for _, s := range secrets() {
		if s.mayContain(lower) {
			text = s.replace(text)
		}
	}
	return text
}
