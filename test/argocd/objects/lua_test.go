package objects

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/trainyard/trainyard/test/repo"
)

const settingsPath = "bundles/rendered/vanilla/argocd/argocd/argocd-cm.yaml"

// withLibraries contains settings of Argo CD that let its Lua scripts use Lua's standard libraries.
const withLibraries = `
  resource.customizations.useOpenLibs.trainer.kubeflow.org_TrainJob: "true"
  resource.customizations.useOpenLibs.jobset.x-k8s.io_JobSet: "true"
`

var healthCases = map[string]struct{ object, status, message string }{
	"a TrainJob without a status": {trainJob(""), "Progressing", "Waiting for Trainer"},
	"a TrainJob without pods":     {trainJob("{conditions: []}"), "Progressing", "Waiting for its pods"},
	"a TrainJob that runs": {
		trainJob("{jobsStatus: [{name: launcher, active: 1, ready: 1}, {name: node, active: 4, ready: 3, failed: 1}]}"),
		"Progressing", "launcher: 1 active, 1 ready; node: 4 active, 3 ready, 1 failed",
	},
	"a TrainJob that failed": {
		trainJob(`{conditions: [{type: Suspended, status: "False", reason: Resumed}, {type: Failed, status: "True", reason: DeadlineExceeded, message: too long}]}`),
		"Degraded", "DeadlineExceeded: too long",
	},
	"a TrainJob that is done": {
		trainJob(`{conditions: [{type: Complete, status: "True", reason: AllJobsCompleted}]}`), "Healthy", "AllJobsCompleted",
	},
	"a TrainJob that waits": {
		trainJob(`{conditions: [{type: Suspended, status: "True", reason: Suspended, message: TrainJob is suspended}]}`), "Suspended", "Suspended: TrainJob is suspended",
	},
	"a TrainJob that was resumed": {
		trainJob(`{conditions: [{type: Suspended, status: "False", reason: Resumed}]}`), "Progressing", "Waiting for its pods",
	},
	"a JobSet without jobs": {jobSet("{}"), "Progressing", "Waiting for its jobs"},
	"a JobSet that runs":    {jobSet("{replicatedJobsStatus: [{name: launcher, active: 1, ready: 0}]}"), "Progressing", "launcher: 1 active, 0 ready"},
	"a JobSet that is done": {jobSet(`{conditions: [{type: Completed, status: "True", reason: AllJobsCompleted, message: done}]}`), "Healthy", "AllJobsCompleted: done"},
	"a JobSet that failed":  {jobSet(`{conditions: [{type: Failed, status: "True", reason: FailedJobs}]}`), "Degraded", "FailedJobs"},
	"a JobSet that waits":   {jobSet(`{conditions: [{type: Suspended, status: "True", reason: SuspendedJobs}]}`), "Suspended", "SuspendedJobs"},
}

func trainJob(status string) string {
	text := "{apiVersion: trainer.kubeflow.org/v1alpha1, kind: TrainJob, metadata: {name: a, namespace: b}, spec: {suspend: false}"
	if status == "" {
		return text + "}"
	}
	return text + ", status: " + status + "}"
}

func jobSet(status string) string {
	return "{apiVersion: jobset.x-k8s.io/v1alpha2, kind: JobSet, metadata: {name: a, namespace: b}, status: " + status + "}"
}

// TestHealth runs the bundle's health checks with the command-line program of Argo CD. Each health check runs
// with and without Lua's standard libraries, because admins can enable these libraries.
func TestHealth(t *testing.T) {
	for libraries, more := range map[string]string{"without libraries": "", "with libraries": withLibraries} {
		for name, tc := range healthCases {
			t.Run(name+" "+libraries, func(t *testing.T) {
				output := runArgoCD(t, more, tc.object, "health")
				if want := "STATUS: " + tc.status + "\nMESSAGE: " + tc.message + "\n"; output != want {
					t.Errorf("Argo CD reports\n%swant\n%s", output, want)
				}
			})
		}
	}
}

// TestTrainJobsAreSuspendedAndResumed checks Argo CD's actions "suspend" and "resume" for TrainJobs. For a TrainJob
// that runs, the only enabled action must be "suspend". For a suspended TrainJob, the only enabled action must be
// "resume". For a TrainJob that has ended, both actions must be disabled. The action "suspend" must set the TrainJob's
// field "suspend" to true. The action "resume" must set this field to false.
func TestTrainJobsAreSuspendedAndResumed(t *testing.T) {
	running := trainJob("{}")
	suspended := strings.Replace(running, "suspend: false", "suspend: true", 1)
	ended := trainJob(`{conditions: [{type: Complete, status: "True"}]}`)
	for name, tc := range map[string]struct{ object, resume, suspend string }{
		"one that runs":      {running, "true", "false"},
		"one that waits":     {suspended, "false", "true"},
		"one that has ended": {ended, "true", "true"},
	} {
		t.Run(name, func(t *testing.T) {
			output := strings.Fields(runArgoCD(t, "", tc.object, "list-actions"))
			want := []string{"NAME", "DISABLED", "resume", tc.resume, "suspend", tc.suspend}
			if strings.Join(output, " ") != strings.Join(want, " ") {
				t.Errorf("Argo CD offers %v, want %v", output, want)
			}
		})
	}
	if output := runArgoCD(t, "", running, "run-action", "suspend"); !strings.Contains(output, "suspend: true") {
		t.Errorf("the action suspend returns %s", output)
	}
	if output := runArgoCD(t, "", suspended, "run-action", "resume"); !strings.Contains(output, "suspend: false") {
		t.Errorf("the action resume returns %s", output)
	}
}

// TestFieldsOfKueueAreNoDifference checks that Argo CD ignores the fields of a TrainJob that Kueue writes. If Argo CD
// compared these fields with Git, it would repeatedly revert Kueue's changes.
func TestFieldsOfKueueAreNoDifference(t *testing.T) {
	job := `{apiVersion: trainer.kubeflow.org/v1alpha1, kind: TrainJob, metadata: {name: a, namespace: b}, spec: {suspend: true, runtimeRef: {name: mpi},
		runtimePatches: [{manager: kueue.x-k8s.io/manager, time: "2026-01-01T00:00:00Z"}, {manager: somebody}], podTemplateOverrides: [{targetJobs: [{name: node}]}]}}`
	output := runArgoCD(t, "", job, "ignore-differences")
	for _, gone := range []string{"suspend: true", "kueue.x-k8s.io/manager", "podTemplateOverrides"} {
		if !strings.Contains(output, gone) {
			t.Errorf("Argo CD does not ignore %s:\n%s", gone, output)
		}
	}
	for line := range strings.Lines(output) {
		if strings.HasPrefix(line, "<") && strings.Contains(line, "somebody") {
			t.Errorf("Argo CD ignores the fields of another manager:\n%s", output)
		}
	}
}

// runArgoCD runs `argocd admin settings resource-overrides` for an object, and returns the command's output. The
// argument "more" contains additional settings for the ConfigMap argocd-cm. The argument "question" contains a
// subcommand and the arguments of this subcommand.
func runArgoCD(t *testing.T, more, object string, question ...string) string {
	t.Helper()
	dir := t.TempDir()
	file, cm := filepath.Join(dir, "object.yaml"), filepath.Join(dir, "argocd-cm.yaml")
	text, err := os.ReadFile(repo.Path(t, settingsPath))
	if err != nil {
		t.Fatal(err)
	}
	changed := strings.Replace(string(text), "\nkind: ConfigMap\n", more+"kind: ConfigMap\n", 1)
	if more == "" {
		changed = string(text)
	}
	for path, text := range map[string]string{file: object, cm: changed} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	args := append([]string{"admin", "settings", "resource-overrides", question[0], file}, question[1:]...)
	cmd := exec.Command(repo.Tool(t, "argocd"), append(args, "--argocd-cm-path", cm)...)
	cmd.Env = append(os.Environ(), "ARGOCD_BINARY_NAME=argocd", "HOME="+dir)
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%s: %v\n%s", cmd, err, out)
	}
	var output strings.Builder
	for line := range strings.Lines(string(out)) {
		if !strings.HasPrefix(line, "{") { // a log message
			output.WriteString(line)
		}
	}
	return output.String()
}
