package main

import (
	"bytes"
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"

	"github.com/trainyard/trainyard/cmd/internal/report"
)

type finding struct {
	Note bool
	Rule string // name of the rule; empty for the format "text", which does not contain names of rules
	Line string // the line of the finding in the format "text"
}

// TestReportsAreEquivalent runs "trainyard vet" on the documents in all test scripts, once with each report format. All
// formats must report the same findings.
func TestReportsAreEquivalent(t *testing.T) {
	t.Chdir(t.TempDir())
	problems, notes, both := 0, 0, 0
	for _, file := range writeDocuments(t) {
		code, want := vetAs(t, report.Text.Name, file)
		found := counts(want)
		problems, notes = problems+found[false], notes+found[true]
		if found[false] > 0 && found[true] > 0 {
			both++
		}
		rules := map[string][]finding{}
		for format := range formatReaders {
			if format == report.Text.Name {
				continue
			}
			gotCode, got := vetAs(t, format, file)
			if gotCode != code {
				t.Errorf("%s: --report %s: exit code %d, want %d as with text", file, format, gotCode, code)
			}
			rules[format] = slices.Clone(got)
			for i := range got {
				got[i].Rule = ""
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("%s: --report %s differs from text: -text +%s:\n%s", file, format, format, diff)
			}
		}
		for format, got := range rules {
			if diff := cmp.Diff(rules["json"], got); diff != "" {
				t.Errorf("%s: --report %s differs from json: -json +%s:\n%s", file, format, format, diff)
			}
		}
	}
	if problems < 100 || notes < 8 || both < 2 {
		t.Errorf("compared %d problems and %d notes, and %d documents with both: want more documents", problems, notes, both)
	}
}

func TestEveryFormatHasAReader(t *testing.T) {
	got := slices.Sorted(maps.Keys(formatReaders))
	want := slices.Sorted(slices.Values(reportFormats().names()))
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("formats with a reader: -want +got:\n%s", diff)
	}
}

func writeDocuments(t *testing.T) []string {
	t.Helper()
	archives, err := filepath.Glob(filepath.Join(scriptFolder, "*.txtar"))
	if err != nil || len(archives) == 0 {
		t.Fatalf("finding scripts: %d, %v", len(archives), err)
	}
	var files []string
	for _, archive := range archives {
		parsed, err := txtar.ParseFile(archive)
		if err != nil {
			t.Fatal(err)
		}
		script := strings.TrimSuffix(filepath.Base(archive), ".txtar")
		for _, file := range parsed.Files {
			if ext := filepath.Ext(file.Name); ext != ".yaml" && ext != ".json" || strings.HasPrefix(file.Name, "want") {
				continue
			}
			files = append(files, filepath.Join(script, file.Name))
			if err := os.MkdirAll(filepath.Dir(files[len(files)-1]), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(files[len(files)-1], file.Data, 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
	return files
}

func vetAs(t *testing.T, format, file string) (code int, found []finding) {
	t.Helper()
	var stdout, stderr bytes.Buffer
	code = run(t.Context(), []string{"vet", "-f", file, "--report", format}, streams{in: strings.NewReader(""), out: &stdout, err: &stderr})
	text := stdout.Bytes()
	if format == report.Text.Name {
		text, stderr = stderr.Bytes(), bytes.Buffer{}
	}
	if stderr.Len() > 0 {
		t.Errorf("%s: --report %s: standard error:\n%s", file, format, &stderr)
	}
	found = formatReaders[format](t, text)
	slices.SortFunc(found, func(a, b finding) int { return strings.Compare(a.Line+a.Rule, b.Line+b.Rule) })
	return code, found
}

func counts(found []finding) map[bool]int {
	n := map[bool]int{}
	for _, f := range found {
		n[f.Note]++
	}
	return n
}

func TestReportOfEveryExitCode(t *testing.T) {
	t.Chdir(t.TempDir())
	if err := os.WriteFile("bad.yaml", []byte("kind: [\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	cases := map[string]struct {
		args []string
		code int
	}{
		"a valid document":              {[]string{"vet", "--example", "minimal"}, exitOK},
		"a document that is not YAML":   {[]string{"vet", "-f", "bad.yaml"}, exitInvalid},
		"a missing file":                {[]string{"vet", "-f", "none.yaml"}, exitUsage},
		"an unknown environment":        {[]string{"generate", "--example", "acme", "-o", "out", "--env", "x"}, exitUsage},
		"a missing folder":              {[]string{"generate", "--example", "minimal", "-o", "out", "--check"}, exitDiffers},
		"a folder below a file":         {[]string{"generate", "--example", "minimal", "-o", "bad.yaml/out"}, exitInternal},
		"a folder that is not a bundle": {[]string{"generate", "--example", "minimal", "-o", "."}, exitRefused},
	}
	for name, tc := range cases {
		for format := range formatReaders {
			t.Run(name+" as "+format, func(t *testing.T) {
				var stdout, stderr bytes.Buffer
				code := run(t.Context(), append(tc.args, "--report", format), streams{out: &stdout, err: &stderr})
				if code != tc.code {
					t.Errorf("exit code %d, want %d:\n%s%s", code, tc.code, &stdout, &stderr)
				}
				if format == report.Text.Name {
					return
				}
				if stderr.Len() > 0 {
					t.Errorf("standard error:\n%s", &stderr)
				}
				formatReaders[format](t, stdout.Bytes()) // checks the schema, or the syntax for the format github
				if format != "json" {
					return
				}
				var report struct{ ExitCode int }
				if err := json.Unmarshal(stdout.Bytes(), &report); err != nil || report.ExitCode != tc.code {
					t.Errorf("exit code %d in the report (%v), want %d", report.ExitCode, err, tc.code)
				}
			})
		}
	}
}
