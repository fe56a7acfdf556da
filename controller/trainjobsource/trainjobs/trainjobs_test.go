package trainjobs

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	trainer "github.com/kubeflow/trainer/v2/pkg/apis/trainer/v1alpha1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/trainyard/trainyard/controller/trainjobsource/plan"
)

func inGit(t *testing.T, text string) *unstructured.Unstructured {
	t.Helper()
	object := &unstructured.Unstructured{}
	if err := yaml.Unmarshal([]byte(text), &object.Object); err != nil {
		t.Fatal(err)
	}
	return object
}

func job(t *testing.T, text string) plan.Job {
	t.Helper()
	j, err := Job(inGit(t, text))
	if err != nil {
		t.Fatal(err)
	}
	return j
}

const bert = "metadata: {name: bert, namespace: team-a}\nspec: {runtimeRef: {name: mpi}, trainer: {numNodes: 2}}"

// TestVersions checks for several changes in Git whether the change makes a new version, changes only labels and
// annotations, or has no effect.
func TestVersions(t *testing.T) {
	before := job(t, bert)
	for name, tc := range map[string]struct {
		text           string
		spec, metadata bool // whether the digest changes
	}{
		"nothing":           {bert, false, false},
		"order of keys":     {"spec: {trainer: {numNodes: 2}, runtimeRef: {name: mpi}}\nmetadata: {namespace: team-a, name: bert}", false, false},
		"default values":    {"metadata: {name: bert, labels: {}}\nspec: {managedBy: trainer.kubeflow.org/trainjob-controller, suspend: false, runtimeRef: {name: mpi, kind: ClusterTrainingRuntime, apiGroup: trainer.kubeflow.org}, trainer: {numNodes: 2}}", false, false},
		"suspended":         {"metadata: {name: bert}\nspec: {suspend: true, runtimeRef: {name: mpi}, trainer: {numNodes: 2}}", false, false},
		"number of nodes":   {"metadata: {name: bert}\nspec: {runtimeRef: {name: mpi}, trainer: {numNodes: 3}}", true, false},
		"kind of runtime":   {"metadata: {name: bert}\nspec: {runtimeRef: {name: mpi, kind: TrainingRuntime}, trainer: {numNodes: 2}}", true, false},
		"a label":           {"metadata: {name: bert, labels: {a: b}}\nspec: {runtimeRef: {name: mpi}, trainer: {numNodes: 2}}", false, true},
		"an annotation":     {"metadata: {name: bert, annotations: {a: b}}\nspec: {runtimeRef: {name: mpi}, trainer: {numNodes: 2}}", false, true},
		"a request to run":  {"metadata: {name: bert, annotations: {trainyard.dev/retry: '1'}}\nspec: {runtimeRef: {name: mpi}, trainer: {numNodes: 2}}", false, false},
		"no spec":           {"metadata: {name: bert}", true, false},
		"spec of two types": {"metadata: {name: bert}\nspec: {runtimeRef: {name: mpi}, trainer: {numNodes: '2'}}", true, false},
	} {
		after := job(t, tc.text)
		if got := after.Spec != before.Spec; got != tc.spec {
			t.Errorf("%s: the version changes: %v, want %v", name, got, tc.spec)
		}
		if got := after.Metadata != before.Metadata; got != tc.metadata {
			t.Errorf("%s: the metadata changes: %v, want %v", name, got, tc.metadata)
		}
	}
	if retry := job(t, "metadata: {name: bert, annotations: {trainyard.dev/retry: '1'}}").Retry; retry != "1" {
		t.Errorf("Retry = %q, want 1", retry)
	}
}

// TestObjectIsRecognized checks that the controller recognizes its own TrainJob in the form in which the API
// server returns it.
func TestObjectIsRecognized(t *testing.T) {
	git := inGit(t, "metadata: {name: bert, namespace: team-a, labels: {a: b}, annotations: {c: d, trainyard.dev/job: x}}\nspec: {runtimeRef: {name: mpi}}")
	j, err := Job(git)
	if err != nil {
		t.Fatal(err)
	}
	run := plan.Run{Name: "bert-abcdefgh", Version: plan.Version{Generation: 3, Spec: j.Spec, Retry: "again"}}
	object, err := Object("jobs", git, j, run, nil)
	if err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(object)
	if err != nil {
		t.Fatal(err)
	}
	var stored trainer.TrainJob
	if err := json.Unmarshal(text, &stored); err != nil {
		t.Fatal(err)
	}
	if stored.Name != "bert-abcdefgh" || stored.Namespace != "team-a" || stored.Labels["a"] != "b" || stored.Annotations["c"] != "d" || stored.Spec.RuntimeRef.Name != "mpi" {
		t.Errorf("object %s", text)
	}
	if diff := cmp.Diff(plan.TrainJob{Phase: plan.Active, Metadata: j.Metadata, Job: "bert", Version: run.Version}, Read("jobs", &stored)); diff != "" {
		t.Errorf("Read(): -want +got:\n%s", diff)
	}
	if read := Read("others", &stored); read.Job != "" {
		t.Errorf("another TrainJobSource owns job %q", read.Job)
	}
	copied := stored.DeepCopy()
	copied.Name = "bert-copy"
	if read := Read("jobs", copied); read.Job != "" {
		t.Errorf("a copy of the TrainJob with another name belongs to job %q", read.Job)
	}
	stored.Annotations[VersionAnnotation] = "{"
	if read := Read("jobs", &stored); read.Job != "" {
		t.Errorf("with an unreadable version, the TrainJob belongs to job %q", read.Job)
	}
	if labels := git.GetLabels(); len(labels) != 1 {
		t.Errorf("the TrainJob in Git has changed: %v", labels)
	}
}

func TestSuspendIsWrittenOnce(t *testing.T) {
	git := inGit(t, "metadata: {name: bert}\nspec: {suspend: true, runtimeRef: {name: mpi}}")
	resumed := false
	for name, tc := range map[string]struct {
		live *trainer.TrainJob
		want bool
	}{
		"at the creation":  {nil, true},
		"after a resume":   {&trainer.TrainJob{Spec: trainer.TrainJobSpec{Suspend: &resumed}}, false},
		"without a resume": {&trainer.TrainJob{Spec: trainer.TrainJobSpec{Suspend: new(true)}}, true},
	} {
		object, err := Object("jobs", git, plan.Job{Name: "bert"}, plan.Run{Name: "bert"}, tc.live)
		if err != nil {
			t.Fatal(err)
		}
		if got, _, _ := unstructured.NestedBool(object.Object, "spec", "suspend"); got != tc.want {
			t.Errorf("%s: suspend is %v, want %v", name, got, tc.want)
		}
	}
	if object, err := Object("jobs", inGit(t, bert), plan.Job{}, plan.Run{}, &trainer.TrainJob{}); err != nil || object.Object["spec"].(map[string]any)["suspend"] != nil {
		t.Errorf("a TrainJob without the field gets %v, error %v", object, err)
	}
}

// TestMissingSpec checks that a TrainJob without a spec in Git causes neither an error nor a panic. The API server
// refuses such a TrainJob with a clear message. For each TrainJob in Git, the test calls the function Object twice. In
// the first call, the cluster does not contain the TrainJob. In the second call, the cluster contains the TrainJob.
// Outside this test, the controller makes such a second call only if the VersionAnnotation of the TrainJob contains the
// job's version in Git. The controller cannot create a TrainJob for a version without a spec, because the API server
// refuses such a TrainJob. Therefore a user must have written this VersionAnnotation.
func TestMissingSpec(t *testing.T) {
	for _, text := range []string{"metadata: {name: bert}", "metadata: {name: bert}\nspec:"} {
		for _, live := range []*trainer.TrainJob{nil, {Spec: trainer.TrainJobSpec{Suspend: new(true)}}} {
			object, err := Object("jobs", inGit(t, text), plan.Job{Name: "bert"}, plan.Run{Name: "bert"}, live)
			if err != nil {
				t.Errorf("%q: %v", text, err)
			} else if _, isMapping := object.Object["spec"].(map[string]any); !isMapping {
				t.Errorf("%q: the spec is %v, want a mapping", text, object.Object["spec"])
			}
		}
	}
}

func TestPhases(t *testing.T) {
	ended := metav1.NewTime(time.Unix(1_800_000_000, 0))
	for condition, want := range map[string]plan.TrainJob{
		trainer.TrainJobComplete:  {Phase: plan.Succeeded, Ended: ended.Unix()},
		trainer.TrainJobFailed:    {Phase: plan.Failed, Ended: ended.Unix()},
		trainer.TrainJobSuspended: {Phase: plan.Active},
	} {
		job := &trainer.TrainJob{Status: trainer.TrainJobStatus{Conditions: []metav1.Condition{{Type: condition, Status: "True", LastTransitionTime: ended}}}}
		if got := Read("jobs", job); got != want {
			t.Errorf("%s: got %+v, want %+v", condition, got, want)
		}
	}
	deleted := &trainer.TrainJob{ObjectMeta: metav1.ObjectMeta{DeletionTimestamp: &ended}}
	if got := Read("jobs", deleted); !got.Deleting {
		t.Errorf("a TrainJob with a deletion timestamp: %+v", got)
	}
}

// TestHugeGenerationIsIgnored: the controller must ignore a TrainJob with a huge generation. The controller never
// writes such a generation into the annotation, so a user must have written it. If the controller computed the next
// generation from this number, the result could overflow.
func TestHugeGenerationIsIgnored(t *testing.T) {
	imitated := &trainer.TrainJob{}
	imitated.Name = "bert"
	imitated.Labels = map[string]string{SourceLabel: "jobs", JobLabel: "bert"}
	for generation, want := range map[string]string{"7": "bert", "9223372036854775807": "", "9223372036854775808": ""} {
		imitated.Annotations = map[string]string{VersionAnnotation: `{"name":"bert","generation":` + generation + `}`}
		if got := Read("jobs", imitated).Job; got != want {
			t.Errorf("generation %s: the job is %q, want %q", generation, got, want)
		}
	}
}

func TestLongTextsAreShortened(t *testing.T) {
	long := strings.Repeat("x", maxText+1)
	if got := ShortText(long); len(got) > maxText || got == ShortText(long+"x") {
		t.Errorf("ShortText() = %q", got)
	}
	if escaped := strings.Repeat("<", maxText); ShortText(escaped) == escaped { // JSON needs 6 bytes for each
		t.Errorf("ShortText(%s) returns its argument", escaped)
	}
	if got := ShortText("again"); got != "again" {
		t.Errorf("ShortText(again) = %q", got)
	}
}
