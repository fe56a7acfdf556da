package message

import (
	"testing"
	"unicode/utf8"
)

func TestPrintable(t *testing.T) {
	for name, tc := range map[string][2]string{
		"plain text":            {"bind: Address in use\n", "bind: Address in use\n"},
		"colours":               {"\x1b[31;1merror\x1b[0m: no", "error: no"},
		"a new title":           {"\x1b]0;owned\x07error", "error"},
		"an unterminated title": {"error\x1b]0;owned", "error"},
		"a cleared screen":      {"\x1b[2J\x1b[Hok  0.1 s", "ok  0.1 s"},
		"an escape in one byte": {"a\u009b31mb", "a�31mb"},
		"a replaced line":       {"FAILED\rok", "FAILED\nok"},
		"Windows line ends":     {"a\r\nb", "a\nb"},
		"no UTF-8":              {"a\xff\xfeb", "a�b"},
		"reversed direction":    {"a\u202eb", "a�b"},
		"isolated direction":    {"a\u2066b\u2069", "a�b�"},
		"a line separator":      {"a\u2028b\u0085c", "a b c"},
		"tabs and bells":        {"a\tb\a", "a b�"},
	} {
		t.Run(name, func(t *testing.T) {
			if got := Printable(tc[0]); got != tc[1] || !utf8.ValidString(got) {
				t.Errorf("Printable(%q) = %q, want %q", tc[0], got, tc[1])
			}
		})
	}
	if got := PrintableLine("\na\r\nb \n"); got != "a b" {
		t.Errorf(`PrintableLine() = %q, want "a b"`, got)
	}
}
