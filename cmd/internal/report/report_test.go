package report

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/trainyard/trainyard/generator/problem"
)

// hostileProblem is a problem that tries to inject workflow commands through its file, its path and
// its message.
var hostileProblem = problem.Problem{
	Position: problem.Position{File: "a,line=9::error::%0A\r\n::debug::b.yaml", Line: 3, Column: 7},
	Rule:     problem.Rule{Name: "wrong-value", Doc: "A value is one that the schema admits"},
	Path:     `spec."\n::set-env name=X::y"`,
	Message:  "100% wrong:\n::error file=x::boo\r::notice::boo",
}

func TestGitHubEscapes(t *testing.T) {
	cases := map[string]struct {
		report Report
		want   string
	}{
		"properties and commands in texts are escaped": {
			Report{Problems: problem.List{hostileProblem}},
			`::error file=a%2Cline=9%3A%3Aerror%3A%3A%250A%0D%0A%3A%3Adebug%3A%3Ab.yaml,line=3,col=7,title=trainyard wrong-value` +
				`::a,line=9::error::%250A??::debug::b.yaml:3:7: spec."\n::set-env name=X::y": 100%25 wrong:%0A::error file=x::boo%0D::notice::boo` + "\n",
		},
		"a note is a notice": {
			Report{Notes: problem.List{{Position: problem.Position{File: "a.yaml", Line: 1, Column: 2}, Rule: problem.Rule{Name: "idle-null"}, Message: "x"}}},
			"::notice file=a.yaml,line=1,col=2,title=trainyard idle-null::a.yaml:1:2: x\n",
		},
		"a file is relative to the repository": {
			Report{Problems: problem.List{{Position: problem.Position{File: "./b/../a.yaml", Line: 1, Column: 2}, Rule: problem.Syntax, Message: "x"}}},
			"::error file=a.yaml,line=1,col=2,title=trainyard syntax::./b/../a.yaml:1:2: x\n",
		},
		"standard input has no file property": {
			Report{Problems: problem.List{{Position: problem.Position{File: "<stdin>", Line: 1, Column: 2}, Rule: problem.Syntax, Message: "x"}}},
			"::error title=trainyard syntax::<stdin>:1:2: x\n",
		},
		"a failure of several lines is one command": {
			Report{Failures: []string{"one\ntwo 5%"}},
			"::error title=trainyard::one%0Atwo 5%25\n",
		},
		"an empty report is empty": {Report{}, ""},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			var b strings.Builder
			if err := github.Write(&b, tc.report); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, b.String()); diff != "" {
				t.Errorf("Write(): -want +got:\n%s", diff)
			}
		})
	}
}

func TestURIOfFile(t *testing.T) {
	folder := t.TempDir()
	t.Chdir(folder)
	working, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	cases := map[string]struct{ file, want string }{
		"a file below is relative":         {"clusters/a.yaml", "clusters/a.yaml"},
		"redundant steps are removed":      {"./clusters/../a.yaml", "a.yaml"},
		"an absolute name of a file below": {filepath.Join(working, "a b.yaml"), "a%20b.yaml"},
		"a file elsewhere is absolute":     {"/etc/a b.yaml", "file:///etc/a%20b.yaml"},
		"a file above is absolute":         {"../a.yaml", "file://" + filepath.Dir(working) + "/a.yaml"},
		"a colon is escaped":               {"http:a.yaml", "http%3Aa.yaml"},
		"special characters are escaped":   {"a?b#c%20.yaml", "a%3Fb%23c%2520.yaml"},
		"a line break is escaped":          {"a\nb.yaml", "a%0Ab.yaml"},
		"other letters are UTF-8":          {"größe.yaml", "gr%C3%B6%C3%9Fe.yaml"},
		"bytes that are not UTF-8":         {"a\xff.yaml", "a%FF.yaml"},
		"standard input has its name":      {"<stdin>", "%3Cstdin%3E"},
		"two leading slashes":              {"//a/b.yaml", "file:///a/b.yaml"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if got := fileURI(tc.file); got != tc.want {
				t.Errorf("uri(%q) = %q, want %q", tc.file, got, tc.want)
			}
		})
	}
}

func TestSARIFEscapesLinks(t *testing.T) {
	var b strings.Builder
	p := problem.Problem{Position: hostileProblem.Position, Rule: hostileProblem.Rule, Message: `got "[all is well](https://example.com)"`}
	if err := sarif.Write(&b, Report{Problems: problem.List{p}}); err != nil {
		t.Fatal(err)
	}
	if want := `"text": "got \"[all is well\\](https://example.com)\""`; !strings.Contains(b.String(), want) {
		t.Errorf("Write() = %s, want in it %s", b.String(), want)
	}
}

func TestFingerprintDependsOnRuleAndPath(t *testing.T) {
	at := func(line int, rule, path, message string) problem.Problem {
		return problem.Problem{Position: problem.Position{File: "a", Line: line}, Rule: problem.Rule{Name: rule}, Path: path, Message: message}
	}
	first := at(1, "wrong-value", "spec.a", "got 1")
	cases := map[string]struct {
		other problem.Problem
		same  bool
	}{
		"the line has moved":  {at(9, "wrong-value", "spec.a", "got 1"), true},
		"the message differs": {at(1, "wrong-value", "spec.a", "got 2"), true},
		"another path":        {at(1, "wrong-value", "spec.b", "got 1"), false},
		"another rule":        {at(1, "unknown-key", "spec.a", "got 1"), false},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if same := computeFingerprint(first) == computeFingerprint(tc.other); same != tc.same {
				t.Errorf("the same fingerprint: %v, want %v", same, tc.same)
			}
		})
	}
}

type fullDisk struct{ writes int }

func (f *fullDisk) Write([]byte) (int, error) {
	f.writes++
	return 0, errors.New("no room")
}

func TestReportIsWrittenWithOneCall(t *testing.T) {
	for _, format := range Formats() {
		t.Run(format.Name, func(t *testing.T) {
			disk := &fullDisk{}
			err := format.Write(disk, Report{Problems: problem.List{hostileProblem, hostileProblem}})
			if err == nil || disk.writes != 1 {
				t.Errorf("Write() = %v after %d writes, want an error after one", err, disk.writes)
			}
		})
	}
}
