package lanes

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
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

// Records reads the last record of each lane, by name.
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

// Digest returns a digest of a lane's inputs in a commit, and of the lane's recipe in the Makefile. It leaves out the files
// that contain the records, because each recorded run changes them. If the lane depends only on the versions in the module
// file, Digest also leaves out this file, and keepsModules compares the versions.
func (r Repository) Digest(ctx context.Context, lane Lane, commit string) (string, error) {
	text, err := r.git(ctx, append([]string{"ls-tree", "-r", commit, "--"}, lane.Inputs...)...)
	if err != nil {
		return "", err
	}
	hash := sha256.New()
	for line := range strings.Lines(text) {
		path := strings.TrimSpace(line[strings.IndexByte(line, '\t')+1:])
		isLeftOut := path == RecordFile || path == Page || path == moduleFile && lane.usesModules() || lane.ignores(path)
		if !isLeftOut {
			_, _ = hash.Write([]byte(line)) // a hash accepts any input
		}
	}
	makefile, _ := r.git(ctx, "show", commit+":Makefile") // the repositories in some tests have no Makefile
	_, _ = hash.Write([]byte(recipe(makefile, lane.Name)))
	return hex.EncodeToString(hash.Sum(nil))[:16], nil
}

// isWithin reports whether a path is the path of the file or folder "parent", or is below this folder.
func isWithin(path, parent string) bool {
	return path == parent || strings.HasPrefix(path, parent+"/")
}

// IsStale reports whether the inputs of a lane differ between the recorded commit and the last commit. A lane is also
// stale if it has no record, or if this clone does not contain the recorded commit.
func (r Repository) IsStale(ctx context.Context, lane Lane, record Record) (bool, error) {
	digest, err := r.Digest(ctx, lane, "HEAD")
	if err != nil || record.Commit == "" {
		return true, err
	}
	recorded, err := r.Digest(ctx, lane, record.Commit)
	if err != nil || digest != recorded {
		return true, nil //nolint:nilerr // a shallow clone does not contain old commits
	}
	if !lane.usesModules() {
		return false, nil
	}
	keeps, err := r.keepsModules(ctx, record.Commit)
	return !keeps, err
}

// Run executes the command of a lane, and writes a record if the command succeeds. If an input of the lane is not
// committed, Run writes no record, because the recorded commit would not contain the tested files.
func (r Repository) Run(ctx context.Context, lane Lane, command []string) error {
	// Digest fails if the repository has no commit. In this case, the lane runs nevertheless, and describeObstacle reports
	// the error afterwards.
	before, _ := r.Digest(ctx, lane, "HEAD")
	commit, _ := r.git(ctx, "rev-parse", "--short=8", "HEAD")
	start := time.Now()
	cmd := exec.CommandContext(ctx, command[0], command[1:]...)
	cmd.Dir, cmd.Stdout, cmd.Stderr = r.Root, os.Stdout, os.Stderr
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("lane %s: %w", lane.Name, err)
	}
	duration := time.Since(start)
	if obstacle := r.describeObstacle(ctx, lane, before); obstacle != "" {
		_, _ = fmt.Fprintf(os.Stderr, "lane %s passed, and is not recorded: %s\n", lane.Name, obstacle)
		return nil
	}
	return r.write(lane, Record{strings.TrimSpace(commit), start.Format(time.DateOnly), int(duration.Seconds())})
}

// describeObstacle returns the reason why a run cannot be recorded, or "". The argument "before" is the digest at the
// start of the run.
func (r Repository) describeObstacle(ctx context.Context, lane Lane, before string) string {
	after, err := r.Digest(ctx, lane, "HEAD")
	if err != nil {
		return err.Error()
	}
	if after != before {
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

// write replaces the record of a lane, and the page that shows all records.
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

A lane is a make target that runs a group of tests. Most lanes need real pods, network packets, Argo CD or much time, so they do not run
for every change. This page shows the last commit at which each lane passed. Only a lane that passed writes its row. ` + "`make lanes`" + ` also shows whether the
inputs of a lane have changed since that commit, and ` + "`make lanes-stale`" + ` runs the lanes whose inputs have changed. If a row has
no commit, the lane has not passed since these records exist.

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
