package doctest

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestMatches(t *testing.T) {
	cases := map[string]struct {
		pattern, lines string
		want           bool
	}{
		"equal lines":              {"a\nb", "a\nb", true},
		"another line":             {"a\nb", "a\nc", false},
		"a line is missing":        {"a\nb", "a", false},
		"a line too many":          {"a", "a\nb", false},
		"dots match several lines": {"a\n...\nd", "a\nb\nc\nd", true},
		"dots match no line":       {"a\n...\nd", "a\nd", true},
		"dots do not hide the end": {"a\n...\nd", "a\nb", false},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if got := matchLines(strings.Split(tc.pattern, "\n"), strings.Split(tc.lines, "\n")); got != tc.want {
				t.Errorf("matches() = %v, want %v", got, tc.want)
			}
		})
	}
}

func TestParse(t *testing.T) {
	text := "```yaml file=/tmp/a\nb: c\n```\n```console\n$ cat /tmp/a\nb: c\n$ true\n```\n```yaml\nd: e\n```\n```shell\none\ntwo\n```\n"
	want := []Step{
		{File: "/tmp/a", Lines: []string{"b: c"}},
		{Command: "cat /tmp/a", Lines: []string{"b: c"}},
		{Command: "true"},
		{Command: "one\ntwo\n", Shell: true},
	}
	if diff := cmp.Diff(want, Parse(t, text)); diff != "" {
		t.Errorf("Parse(): -want +got:\n%s", diff)
	}
}
