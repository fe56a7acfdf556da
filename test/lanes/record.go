package lanes

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// Record describes the last run in which a lane passed.
type Record struct {
	Commit  string `json:"commit"`
	Date    string `json:"date"`    // such as 2026-11-25
	Seconds int    `json:"seconds"` // duration of the run
}

// Repository is a Git work tree with the records of its lanes.
type Repository struct{ Root string }

// RecordFile is the path of the records, and Page is the path of the page that shows them.
const (
	RecordFile = "docs/lanes.json"
	Page       = "docs/lanes.md"
)

// Records returns a map with the last record of each lane. The keys of the map are the names of the
// lanes.
func (r Repository) Records() (map[string]Record, error) {
	records := map[string]Record{}
	text, err := os.ReadFile(filepath.Join(r.Root, RecordFile))
	if errors.Is(err, fs.ErrNotExist) {
		return records, nil
	}
	if err != nil {
		return nil, err
	}
	if err := json.Unmarshal(text, &records); err != nil {
		return nil, fmt.Errorf("reading %s: %w", RecordFile, err)
	}
	return records, nil
}

// keepsInputs reports whether two commits contain the same inputs of a lane, and the same recipe for the lane in the
// Makefile. If readsComments returns false for a Go or CUE file, keepsInputs ignores changed comments in this file.
// keepsInputs also ignores the files with the records of lanes, because each recorded run changes these files. If
// usesModules returns true for the lane, keepsInputs does not compare the whole file go.mod of the two commits.
// Instead, keepsInputs calls keepsModules, which compares only the versions in go.mod.
func (r Repository) keepsInputs(ctx context.Context, lane Lane, before, after string) (bool, error) {
	withCode, others, err := r.changedInputs(ctx, lane, before, after)
	if err != nil || len(others) > 0 {
		return false, err
	}
	oldMakefile, _ := r.git(ctx, "show", before+":Makefile") // the repositories in some tests have no Makefile
	makefile, _ := r.git(ctx, "show", after+":Makefile")
	if recipe(oldMakefile, lane.Name) != recipe(makefile, lane.Name) {
		return false, nil
	}
	if keeps, err := r.keepsCode(ctx, before, after, withCode); err != nil || !keeps {
		return false, err
	}
	if !lane.usesModules() {
		return true, nil
	}
	return r.keepsModules(ctx, before, after)
}

// changedInputs lists the inputs of a lane that differ between two commits. The list withCode contains changed Go and
// CUE files for which readsComments returns false. In these files, the code is an input of the lane, but the comments
// are not. Therefore keepsInputs ignores changed comments in these files. The list "others" contains the other changed
// inputs. If usesModules returns true for the lane, neither withCode nor "others" contains go.mod. Instead, keepsInputs
// calls keepsModules, which compares the versions in go.mod.
func (r Repository) changedInputs(ctx context.Context, lane Lane, before, after string) (withCode, others []string, err error) {
	text, err := r.git(ctx, append([]string{"diff", "--name-only", "--no-renames", before, after, "--"}, lane.Inputs...)...)
	for path := range strings.Lines(text) {
		path = strings.TrimSuffix(path, "\n")
		switch {
		case path == RecordFile || path == Page || path == moduleFile && lane.usesModules() || lane.ignores(path):
		case hasCode(path) && !lane.readsComments(path):
			withCode = append(withCode, path)
		default:
			others = append(others, path)
		}
	}
	return withCode, others, err
}

// isWithin reports whether a path equals the path "parent", or is the path of a file or folder below
// "parent".
func isWithin(path, parent string) bool {
	return path == parent || strings.HasPrefix(path, parent+"/")
}

// IsStale reports whether the inputs of a lane differ between the recorded commit and the last commit. A lane is also
// stale if it has no record, or if this clone does not contain the recorded commit.
func (r Repository) IsStale(ctx context.Context, lane Lane, record Record) (bool, error) {
	if _, err := r.git(ctx, "rev-parse", "--verify", "HEAD"); err != nil || record.Commit == "" {
		return true, err
	}
	if _, err := r.git(ctx, "rev-parse", "--verify", record.Commit+"^{commit}"); err != nil {
		return true, nil //nolint:nilerr // a shallow clone does not contain old commits
	}
	keeps, err := r.keepsInputs(ctx, lane, record.Commit, "HEAD")
	return !keeps, err
}

// Run executes the command of a lane, and writes a record if the command succeeds. If an input of the lane is not
// committed, Run writes no record, because the recorded commit would not contain the tested files.
func (r Repository) Run(ctx context.Context, lane Lane, command []string) error {
	// If the repository has no commit, the lane runs nevertheless, and describeObstacle reports the error afterwards.
	commit, _ := r.git(ctx, "rev-parse", "--short=8", "HEAD")
	commit = strings.TrimSpace(commit)
	start := time.Now()
	cmd := exec.CommandContext(ctx, command[0], command[1:]...)
	cmd.Dir, cmd.Stdout, cmd.Stderr = r.Root, os.Stdout, os.Stderr
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("lane %s: %w", lane.Name, err)
	}
	duration := time.Since(start)
	if obstacle := r.describeObstacle(ctx, lane, commit); obstacle != "" {
		_, _ = fmt.Fprintf(os.Stderr, "lane %s passed, but is not recorded: %s\n", lane.Name, obstacle)
		return nil
	}
	return r.write(lane, Record{commit, start.Format(time.DateOnly), int(duration.Seconds())})
}

// describeObstacle returns the reason why a run cannot be recorded, or "". The argument "commit" is the commit that was
// checked out when the run started.
func (r Repository) describeObstacle(ctx context.Context, lane Lane, commit string) string {
	keeps, err := r.keepsInputs(ctx, lane, commit, "HEAD")
	if err != nil {
		return err.Error()
	}
	if !keeps {
		return "its inputs changed during the run"
	}
	uncommitted, err := r.git(ctx, append([]string{"status", "--porcelain", "--"}, append(slices.Clone(lane.Inputs), ":!"+RecordFile, ":!"+Page)...)...)
	if err != nil {
		return err.Error()
	}
	if uncommitted != "" {
		return "its inputs are not committed:\n" + uncommitted
	}
	return ""
}

// write saves the new record of a lane, and updates the page that shows all records.
func (r Repository) write(lane Lane, record Record) error {
	records, err := r.Records()
	if err != nil {
		return err
	}
	records[lane.Name] = record
	text, err := json.MarshalIndent(records, "", "  ")
	if err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(r.Root, RecordFile), append(text, '\n'), 0o644); err != nil { //nolint:gosec // a committed file
		return err
	}
	return os.WriteFile(filepath.Join(r.Root, Page), RenderPage(records), 0o644) //nolint:gosec // a committed file
}

// RenderPage returns the page that shows all records.
func RenderPage(records map[string]Record) []byte {
	var b bytes.Buffer
	b.WriteString(`# Lanes

A lane is a make target that runs a group of tests. Most lanes need real pods, network packets, Argo CD or much time, so
they do not run for every change. This page shows the last commit at which each lane passed. A lane updates its row only if
it passes. ` + "`make lanes`" + ` also shows whether the inputs of a lane have changed since that commit, and ` + "`make lanes-stale`" + ` runs
the lanes whose inputs have changed. If a row has no commit, the lane has not passed since records were introduced.

| lane | tests | needs | last passed | minutes |
|---|---|---|---|---|
`)
	for _, lane := range All() {
		row := []string{"`make " + lane.Name + "`", lane.Tests, lane.Needs, "", ""}
		if record, ok := records[lane.Name]; ok {
			row[3], row[4] = record.Commit+", "+record.Date, minutes(record)
		}
		fmt.Fprintf(&b, "| %s |\n", strings.Join(row, " | "))
	}
	return b.Bytes()
}

func minutes(r Record) string { return fmt.Sprintf("%.1f", float64(r.Seconds)/60) }

func (r Repository) git(ctx context.Context, args ...string) (string, error) {
	out, err := exec.CommandContext(ctx, "git", append([]string{"-C", r.Root}, args...)...).Output()
	if err != nil {
		return "", fmt.Errorf("git %s: %w", args[0], err)
	}
	return string(out), nil
}
