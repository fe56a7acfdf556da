package main

import (
	"bytes"
	"os"
	"os/exec"
	"testing"
)

// TestTheHeadOfAProgramHasItsBuildID: that is what tells two builds apart whose files have the same size and time.
func TestTheHeadOfAProgramHasItsBuildID(t *testing.T) {
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	id, err := exec.Command("go", "tool", "buildid", program).Output()
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(program)
	if err != nil {
		t.Fatal(err)
	}
	if id = bytes.TrimSpace(id); len(id) == 0 || !bytes.Contains(text[:head], id) {
		t.Errorf("the first %d bytes of %s do not hold its build ID, %q", head, program, id)
	}
}
