package main

import (
	"bytes"
	"os"
	"path/filepath"
	"regexp"
	"testing"
)

// commentedField matches a field that is commented out in the document of "trainyard init". The
// expression commentedField does not match comments that contain prose.
var commentedField = regexp.MustCompile(`(?m)^( +)# ( *[a-z-]+: ?.*)$`)

func TestScaffoldCommentsAreValid(t *testing.T) {
	file := filepath.Join(t.TempDir(), "platform.yaml")
	var output bytes.Buffer
	s := streams{in: new(bytes.Buffer), out: &output, err: &output}
	if code := run(t.Context(), []string{"init", "--name", "acme", file}, s); code != exitOK {
		t.Fatalf("init: exit code %d: %s", code, output.String())
	}
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if n := len(commentedField.FindAll(text, -1)); n < 8 {
		t.Errorf("%d fields in comments, want at least 8", n)
	}
	if err := os.WriteFile(file, commentedField.ReplaceAll(text, []byte("$1$2")), 0o600); err != nil {
		t.Fatal(err)
	}
	if code := run(t.Context(), []string{"vet", "-f", file}, s); code != exitOK {
		t.Errorf("vet: exit code %d: %s", code, output.String())
	}
}
