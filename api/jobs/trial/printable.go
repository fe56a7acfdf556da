package trial

import (
	"strings"

	"github.com/trainyard/trainyard/api/message"
	"github.com/trainyard/trainyard/api/sanitize"
)

const (
	// maxLine and maxText are the maximum lengths of a line and of a text from a pod or a controller, in characters.
	maxLine = 300
	maxText = 3000
)

// makePrintable changes a text, such as a part of a log, so that the text is safe to show. makePrintable replaces
// secrets. It also removes control sequences of terminals, so that a log cannot overwrite the results of a trial on a
// terminal.
func makePrintable(text string) string {
	lines := strings.Split(strings.TrimSpace(sanitize.Text(text)), "\n")
	for i, line := range lines {
		lines[i] = message.Shorten(line, maxLine)
	}
	return message.Shorten(strings.Join(lines, "\n"), maxText)
}

func oneLine(text string) string { return strings.ReplaceAll(makePrintable(text), "\n", " ") }
