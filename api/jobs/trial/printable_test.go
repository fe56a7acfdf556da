package trial

import (
	"strings"
	"testing"
	"unicode/utf8"
)

func TestPrintable(t *testing.T) {
	for name, tc := range map[string][2]string{
		"plain text":         {"bind: Address in use\n", "bind: Address in use"},
		"colours":            {"\x1b[31;1merror\x1b[0m: no", "error: no"},
		"a cleared screen":   {"\x1b[2J\x1b[Hok  0.1 s", "ok  0.1 s"},
		"a replaced line":    {"FAILED\rok", "FAILED\nok"},
		"reversed direction": {"a\u202eb", "a�b"},
		"a long line":        {strings.Repeat("ä", 1000), strings.Repeat("ä", maxLine) + "…"},
	} {
		t.Run(name, func(t *testing.T) {
			if got := makePrintable(tc[0]); got != tc[1] || !utf8.ValidString(got) {
				t.Errorf("printable(%q) = %q, want %q", tc[0], got, tc[1])
			}
		})
	}
	if got := makePrintable(strings.Repeat("line\n", 10_000)); len(got) > maxText+len("…") {
		t.Errorf("printable() of many lines returns %d bytes, want fewer", len(got))
	}
	if got := oneLine("a\nb"); got != "a b" {
		t.Errorf("oneLine() = %q", got)
	}
}
