package trainjobsource

import (
	"bytes"
	"encoding/json"
	"errors"
	"os/exec"
	"testing"

	"github.com/trainyard/trainyard/api/sources"
	"github.com/trainyard/trainyard/api/v1alpha1"
	"github.com/trainyard/trainyard/test/repo"
)

// command runs `trainyard source` with -o json, checks the exit code, and returns the printed state of the
// TrainJobSource.
func (l *live) command(program string, code int, args ...string) (view sources.View) {
	l.t.Helper()
	args = append([]string{"source"}, args...)
	args = append(args, "--kubeconfig", l.cp.Kubeconfig(), "--namespace", l.object.Namespace, "-o", "json")
	var out, messages bytes.Buffer
	cmd := exec.CommandContext(l.t.Context(), program, args...)
	cmd.Stdout, cmd.Stderr = &out, &messages
	if err := cmd.Run(); err != nil && !errors.As(err, new(*exec.ExitError)) {
		l.t.Fatal(err)
	}
	if got := cmd.ProcessState.ExitCode(); got != code {
		l.t.Fatalf("trainyard %q: exit code %d, want %d:\n%s", args, got, code, &messages)
	}
	if err := json.Unmarshal(out.Bytes(), &view); err != nil {
		l.t.Fatalf("trainyard %q: reading the output: %v\n%s", args, err, &out)
	}
	return view
}

// TestCommandsPrintJSON checks that with -o json, each command that changes a TrainJobSource prints the state after the
// change.
func TestCommandsPrintJSON(t *testing.T) {
	l, program := newLive(t), repo.Build(t)
	l.push("bert", "numNodes: 2")
	l.run(l.options())
	l.create()
	l.wait("True", v1alpha1.ReasonApplied)

	commit := l.push("sum", "numNodes: 1")
	if view := l.command(program, 0, "sync", "jobs"); view.Applied == nil || view.Applied.Commit != commit {
		t.Errorf("sync prints %+v as applied, want commit %s", view.Applied, commit)
	}
	l.push("big", "numNodes: 100000")
	if view := l.command(program, 7, "sync", "jobs"); view.Reason != v1alpha1.ReasonJobsInvalid || len(view.Problems) != 1 {
		t.Errorf("sync prints the reason %s and the problems %v, want %s and 1 problem", view.Reason, view.Problems, v1alpha1.ReasonJobsInvalid)
	}
	if view := l.command(program, 0, "retry", "jobs", "sum"); len(view.Jobs) != 3 {
		t.Errorf("retry prints %d jobs, want 3", len(view.Jobs))
	}
	l.waitObserved()
	for range 2 { // the second call changes nothing
		if view := l.command(program, 0, "suspend", "jobs"); !view.Suspended {
			t.Error("suspend prints that the TrainJobSource is not suspended")
		}
	}
	if view := l.command(program, 0, "resume", "jobs"); view.Suspended {
		t.Error("resume prints that the TrainJobSource is suspended")
	}
	if view := l.command(program, 0, "sync", "jobs", "--wait=false"); view.Name != "jobs" {
		t.Errorf("sync --wait=false prints the name %q, want jobs", view.Name)
	}
}
