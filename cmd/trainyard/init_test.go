package main

import (
	"bytes"
	"os"
	"path/filepath"
	"regexp"
	"testing"
)

// commentedField is a field in a comment of the scaffold, as opposed to prose.
var commentedField = regexp.MustCompile(`(?m)^( +)# ( *[a-z-]+: ?.*)$`)

// TestScaffoldCommentsAreTrue: what the scaffold offers in comments is valid, too.
func TestScaffoldCommentsAreTrue(t *testing.T) {
	file := filepath.Join(t.TempDir(), "platform.yaml")
	var said bytes.Buffer
	s := streams{in: new(bytes.Buffer), out: &said, err: &said}
	if code := run(t.Context(), []string{"init", "--name", "acme", file}, s); code != exitOK {
		t.Fatalf("init ends with %d: %s", code, said.String())
	}
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if n := len(commentedField.FindAll(text, -1)); n < 8 {
		t.Errorf("found %d fields in comments, want 8 at least", n)
	}
	if err := os.WriteFile(file, commentedField.ReplaceAll(text, []byte("$1$2")), 0o600); err != nil {
		t.Fatal(err)
	}
	if code := run(t.Context(), []string{"vet", "-f", file}, s); code != exitOK {
		t.Errorf("vet ends with %d: %s", code, said.String())
	}
}
