package trainjobsource

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	trainer "github.com/kubeflow/trainer/v2/pkg/apis/trainer/v1alpha1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trainyard/trainyard/api/v1alpha1"
	"github.com/trainyard/trainyard/controller/trainjobsource/decode"
	"github.com/trainyard/trainyard/controller/trainjobsource/reconcile"
)

// dryRuns is a fake client that answers requests to create TrainJobs. The map "errors" maps the
// name of a TrainJob to the error in the answer. The field "count" counts the requests.
type dryRuns struct {
	client.Client
	errors map[string]error
	count  int
}

// Create is the method with which the fake client answers a dry run.
func (d *dryRuns) Create(_ context.Context, object client.Object, _ ...client.CreateOption) error {
	d.count++
	return d.errors[object.GetName()]
}

// TestAnswersAboutDeniedJobs: if the dry run of a job fails with a permanent error, the controller must wait at least
// one hour before it repeats the dry run. If the error may be temporary, the controller must repeat the dry run after
// the time silentPause.
func TestAnswersAboutDeniedJobs(t *testing.T) {
	trainJobs := schema.GroupResource{Group: trainer.SchemeGroupVersion.Group, Resource: "trainjobs"}
	server := &dryRuns{errors: map[string]error{
		"exists":  apierrors.NewAlreadyExists(trainJobs, "exists"),
		"policy":  apierrors.NewForbidden(trainJobs, "policy", errors.New("ValidatingAdmissionPolicy 'trainyard-trainjobs' with binding 'b' denied request: node-limit")),
		"webhook": apierrors.NewForbidden(trainJobs, "webhook", errors.New(`admission webhook "a" denied the request`)),
		"typo":    apierrors.NewBadRequest("strict decoding error"),
		"x":       apierrors.NewBadRequest(`admission webhook "a" does not support dry run`),
		"z1":      apierrors.NewInternalError(errors.New("failed calling webhook")),
		"z2":      apierrors.NewInternalError(errors.New("failed calling webhook")),
		"z3":      apierrors.NewInternalError(errors.New("failed calling webhook")),
		"zz":      nil, // not asked at first, because the API server did not answer three times
	}}
	tree := decode.Tree{}
	for _, name := range []string{"exists", "policy", "typo", "warned", "webhook", "x", "z1", "z2", "z3", "zz"} {
		object := &unstructured.Unstructured{Object: map[string]any{}}
		object.SetName(name)
		tree.Jobs = append(tree.Jobs, decode.Job{Object: object})
	}
	rounds := &reconcile.Reconciler{TrainJobs: func(string, string) (client.Client, error) { return server, nil }}
	r := &round{Controller: &Controller{Rounds: rounds}, source: &v1alpha1.TrainJobSource{}, state: &state{}, now: time.Now(), commit: &commit{tree: tree}}
	ask := func() map[string]string {
		server.count = 0
		r.denied = map[string]string{}
		for _, job := range tree.Jobs {
			r.denied[job.Name()] = "rule"
		}
		r.dropWarnings(t.Context())
		return r.denied
	}
	want := map[string]string{
		"policy": "rule", "typo": "strict decoding error", "webhook": `trainjobs.trainer.kubeflow.org "webhook" is forbidden: admission webhook "a" denied the request`,
		"z1": "rule", "z2": "rule", "z3": "rule", "zz": "rule",
	}
	if diff := cmp.Diff(want, ask()); diff != "" || server.count != 9 {
		t.Errorf("%d requests; denied jobs differ, -want +got:\n%s", server.count, diff)
	}
	delete(want, "zz")
	if ask(); server.count != 0 {
		t.Errorf("%d requests during the pause", server.count)
	}
	r.now = r.now.Add(silentPause)
	if diff := cmp.Diff(want, ask()); diff != "" || server.count != 4 { // first zz, then the others again
		t.Errorf("after the errors of z1 to z3: %d requests; denied jobs differ, -want +got:\n%s", server.count, diff)
	}
	r.now = r.now.Add(silentPause)
	for _, name := range []string{"z1", "z2", "z3"} {
		server.errors[name] = nil
		delete(want, name)
	}
	if diff := cmp.Diff(want, ask()); diff != "" || server.count != 3 {
		t.Errorf("after z1 to z3 were admitted: %d requests; denied jobs differ, -want +got:\n%s", server.count, diff)
	}
	if ask(); server.count != 0 {
		t.Errorf("%d requests although all answers are known", server.count)
	}
}

// TestQuestionsRotate: all jobs break a rule, so each job needs a dry run. The API server refuses so many dry runs that
// the limit maxRefused is reached before the last job. In the next hour, the last job must get its dry run.
func TestQuestionsRotate(t *testing.T) {
	server := &dryRuns{errors: map[string]error{}}
	tree := decode.Tree{}
	for i := range maxRefused + 1 {
		object := &unstructured.Unstructured{Object: map[string]any{}}
		object.SetName(fmt.Sprintf("job-%02d", i))
		server.errors[object.GetName()] = apierrors.NewBadRequest("strict decoding error")
		tree.Jobs = append(tree.Jobs, decode.Job{Object: object})
	}
	server.errors["job-20"] = nil
	rounds := &reconcile.Reconciler{TrainJobs: func(string, string) (client.Client, error) { return server, nil }}
	r := &round{Controller: &Controller{Rounds: rounds}, source: &v1alpha1.TrainJobSource{}, state: &state{}, now: time.Now(), commit: &commit{tree: tree}}
	for hour, want := range []bool{true, false} {
		r.now = r.now.Add(maxUnchecked)
		r.denied = map[string]string{}
		for _, job := range tree.Jobs {
			r.denied[job.Name()] = "rule"
		}
		r.dropWarnings(t.Context())
		if got := r.denied["job-20"] != ""; got != want {
			t.Errorf("hour %d: denied is %v, want %v", hour, got, want)
		}
	}
}
