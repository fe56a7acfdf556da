package sanitize

import (
	"strings"

	"github.com/trainyard/trainyard/api/message"
)

// Text makes a text safe to show: it replaces secrets, and removes or replaces unprintable characters. Line breaks
// are kept. A private key that spans several lines is replaced as a whole.
func Text(text string) string { return message.Printable(replaceSecrets(plain(text))) }

// Line is like Text, but returns one line. Line puts a space in place of each line break, and shortens the text to the
// given number of characters. Line replaces secrets before it shortens the line, because a secret that was cut off could
// not be recognized.
func Line(text string, length int) string {
	return message.Shorten(message.PrintableLine(replaceSecrets(plain(text))), length)
}

// plain returns a text without its control sequences. The functions Text and Line call the function "plain" first, and
// then the function replaceSecrets. Without the call of "plain", replaceSecrets would not recognize a secret that
// contains a control sequence.
func plain(text string) string { return message.Printable(text) }

// mark is the text that replaces a secret.
const mark = "[secret]"

// replaceSecrets replaces each secret in a text by a mark. replaceSecrets keeps the name before a secret, such as HF_TOKEN,
// because the name helps to understand the text.
func replaceSecrets(text string) string {
	lower := strings.ToLower(text)
	for _, s := range secrets() {
		if s.mayContain(lower) {
			text = s.replace(text)
		}
	}
	return text
}
