package reconcile

import (
	"context"
	"errors"
	"fmt"

	trainer "github.com/kubeflow/trainer/v2/pkg/apis/trainer/v1alpha1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/client-go/util/csaupgrade"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trainyard/trainyard/controller/trainjobsource/plan"
	"github.com/trainyard/trainyard/controller/trainjobsource/trainjobs"
)

// JobError is a TrainJob that could not be created, changed or deleted.
type JobError struct {
	Job string // the name of the job in Git
	err error
}

// Error names the TrainJob and the job.
func (e *JobError) Error() string { return e.err.Error() }

// Unwrap returns the answer of the API server.
func (e *JobError) Unwrap() error { return e.err }

// newJobError adds the job to an error, which can be nil.
func newJobError(job string, err error) error {
	if err == nil {
		return nil
	}
	return &JobError{job, err}
}

// fieldManager owns the fields of TrainJobs that come from Git.
const fieldManager = "trainyard-controller"

// changes reads the TrainJobs of a namespace, and carries out a plan for them.
type changes struct {
	client client.Client
	source Source
	inGit  map[string]*unstructured.Unstructured // by the name of the job
	jobs   map[string]plan.Job
	live   map[string]*trainer.TrainJob // by the name of the TrainJob

	created []string // the names of the TrainJobs that carryOut has created
}

// read returns all TrainJobs of the namespace for a plan.
func (c *changes) read(ctx context.Context) (map[string]plan.TrainJob, error) {
	var list trainer.TrainJobList
	if err := c.client.List(ctx, &list, client.InNamespace(c.source.Namespace)); err != nil {
		return nil, fmt.Errorf("listing TrainJobs: %w", err)
	}
	c.live = map[string]*trainer.TrainJob{}
	found := map[string]plan.TrainJob{}
	for i := range list.Items {
		t := &list.Items[i]
		c.live[t.Name], found[t.Name] = t, trainjobs.Read(c.source.Name, t)
	}
	return found, nil
}

// carryOut carries out a plan whose record is already written.
func (c *changes) carryOut(ctx context.Context, p plan.Plan) error {
	var errs []error
	for _, name := range p.Delete {
		errs = append(errs, newJobError(trainjobs.Read(c.source.Name, c.live[name]).Job, c.delete(ctx, c.live[name])))
	}
	for _, create := range p.Create {
		err := c.create(ctx, create)
		if err == nil {
			c.created = append(c.created, create.Run.Name)
		}
		errs = append(errs, newJobError(create.Job, err))
	}
	for _, patch := range p.Patch {
		errs = append(errs, newJobError(patch.Job, c.patch(ctx, patch.Job, c.live[patch.TrainJob])))
	}
	return errors.Join(errs...)
}

// create creates the TrainJob of a run. It is not an apply, which would change a TrainJob that somebody else created with
// this name after the plan was made.
func (c *changes) create(ctx context.Context, create plan.Create) error {
	object, err := trainjobs.Object(c.source.Name, c.inGit[create.Job], c.jobs[create.Job], create.Run, nil)
	if err != nil {
		return err
	}
	err = c.client.Create(ctx, object, client.FieldOwner(fieldManager), client.FieldValidation(metav1.FieldValidationStrict))
	switch {
	case apierrors.IsAlreadyExists(err):
		return fmt.Errorf("creating %s: the name was taken just now; the next round chooses another name", describe(create.Run.Name, create.Job))
	case err != nil:
		return fmt.Errorf("creating %s: %w", describe(create.Run.Name, create.Job), err)
	}
	return nil
}

// patch writes the labels and annotations of a job to a TrainJob.
func (c *changes) patch(ctx context.Context, job string, live *trainer.TrainJob) error {
	if err := c.prepareApply(ctx, live); err != nil {
		return fmt.Errorf("preparing %s for a change: %w", describe(live.Name, job), err)
	}
	run := plan.Run{Name: live.Name, Version: trainjobs.Read(c.source.Name, live).Version}
	object, err := trainjobs.Object(c.source.Name, c.inGit[job], c.jobs[job], run, live)
	if err != nil {
		return err
	}
	if err := c.client.Apply(ctx, client.ApplyConfigurationFromUnstructured(object), client.FieldOwner(fieldManager)); err != nil {
		return fmt.Errorf("applying %s: %w", describe(live.Name, job), err)
	}
	return nil
}

// prepareApply turns the fields with which this program created a TrainJob into applied fields. An apply removes only
// applied fields, such as a label that Git no longer contains.
func (c *changes) prepareApply(ctx context.Context, live *trainer.TrainJob) error {
	patch, err := csaupgrade.UpgradeManagedFieldsPatch(live, sets.New(fieldManager), fieldManager)
	if err != nil || patch == nil {
		return err
	}
	return c.client.Patch(ctx, live, client.RawPatch(types.JSONPatchType, patch))
}

// describe names a TrainJob, and its job if the job has another name.
func describe(run, job string) string {
	if run == job {
		return "TrainJob " + run
	}
	return "TrainJob " + run + " of job " + job
}

// delete deletes a TrainJob, but not a TrainJob with the same name that somebody created after the plan was made.
func (c *changes) delete(ctx context.Context, live *trainer.TrainJob) error {
	err := c.client.Delete(ctx, live, client.Preconditions{UID: &live.UID}, client.PropagationPolicy("Foreground"))
	if client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("deleting TrainJob %s: %w", live.Name, err)
	}
	return nil
}
