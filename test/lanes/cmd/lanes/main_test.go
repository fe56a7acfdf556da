package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/trainyard/trainyard/test/lanes"
)

// newCommand returns a command for a repository with three lanes. The lane "fresh" has passed. The lane "stale" has
// passed, and its input has changed since then. The lane "new" has never passed.
func newCommand(t *testing.T) command {
	t.Helper()
	c := command{repository: lanes.Repository{Root: t.TempDir()}}
	for _, name := range []string{"fresh", "stale", "new"} {
		c.lanes = append(c.lanes, lanes.Lane{Name: name, Needs: "root", Inputs: []string{name}})
		c.write(t, name+"/file", "1")
	}
	c.write(t, lanes.Page, "")
	c.git(t, "init", "-q")
	c.commit(t)
	for _, name := range []string{"fresh", "stale"} {
		expectOutput(t, c, "", "run", name, "true")
	}
	c.write(t, "stale/file", "2")
	c.commit(t)
	return c
}

func (c command) write(t *testing.T, path, content string) {
	t.Helper()
	path = filepath.Join(c.repository.Root, path)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
		t.Fatal(err)
	}
}

func (c command) git(t *testing.T, args ...string) {
	t.Helper()
	args = append([]string{"-C", c.repository.Root, "-c", "user.name=a", "-c", "user.email=a@acme.example"}, args...)
	if out, err := exec.Command("git", args...).CombinedOutput(); err != nil {
		t.Fatalf("git %v: %v: %s", args, err, out)
	}
}

func (c command) commit(t *testing.T) {
	t.Helper()
	c.git(t, "add", "-A")
	c.git(t, "commit", "-q", "-m", "change")
}

func (c command) outputOf(t *testing.T, args ...string) string {
	t.Helper()
	var b bytes.Buffer
	c.output = &b
	if err := c.run(t.Context(), args); err != nil {
		t.Fatalf("lanes %v: %v", args, err)
	}
	return b.String()
}

func expectOutput(t *testing.T, c command, want string, args ...string) {
	t.Helper()
	if diff := cmp.Diff(want, c.outputOf(t, args...)); diff != "" {
		t.Errorf("output of lanes %v: -want +got:\n%s", args, diff)
	}
}

func (c command) recordOf(t *testing.T, name string) *lanes.Record {
	t.Helper()
	records, err := c.repository.Records()
	if err != nil {
		t.Fatal(err)
	}
	record, known := records[name]
	if !known || record.Commit == "" || record.Date == "" {
		t.Fatalf("lane %s has the record %+v, want a commit and a date", name, record)
	}
	return &record
}

func TestListShowsTheStateOfEachLane(t *testing.T) {
	c := newCommand(t)
	fresh, stale := c.recordOf(t, "fresh"), c.recordOf(t, "stale")
	t.Run("as a table", func(t *testing.T) {
		var got []string
		for line := range strings.Lines(c.outputOf(t, "list")) {
			got = append(got, strings.Join(strings.Fields(line), " "))
		}
		want := []string{
			"LANE STATE PASSED AT DATE MINUTES NEEDS",
			fmt.Sprintf("fresh fresh %s %s %.1f root", fresh.Commit, fresh.Date, float64(fresh.Seconds)/60),
			fmt.Sprintf("stale stale %s %s %.1f root", stale.Commit, stale.Date, float64(stale.Seconds)/60),
			"new never passed root",
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("rows: -want +got:\n%s", diff)
		}
	})
	t.Run("as JSON", func(t *testing.T) {
		var got []row
		if err := json.Unmarshal([]byte(c.outputOf(t, "list", "-o", "json")), &got); err != nil {
			t.Fatal(err)
		}
		want := []row{{"fresh", "root", fresh, false}, {"stale", "root", stale, true}, {"new", "root", nil, true}}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("rows: -want +got:\n%s", diff)
		}
	})
}

func TestStaleSelectsLanesThatMustRun(t *testing.T) {
	c := newCommand(t)
	expectOutput(t, c, "stale\nnew\n", "stale")
	for _, name := range []string{"stale", "new"} {
		expectOutput(t, c, "", "run", name, "true")
	}
	expectOutput(t, c, "", "stale")
}

func TestUnknownArgumentsAreErrors(t *testing.T) {
	c := newCommand(t)
	for want, args := range map[string][]string{
		`unknown lane "other"`:          {"run", "other", "true"},
		`unknown command ["run" "new"]`: {"run", "new"},
		`unknown command []`:            nil,
	} {
		if err := c.run(t.Context(), args); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("lanes %v = %v, want an error with %s", args, err, want)
		}
	}
}
