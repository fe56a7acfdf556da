package reconcile

import (
	"context"
	"errors"
	"fmt"

	trainer "github.com/kubeflow/trainer/v2/pkg/apis/trainer/v1alpha1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
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
		errs = append(errs, newJobError(create.Job, c.apply(ctx, create.Job, create.Run, nil)))
	}
	for _, patch := range p.Patch {
		live := c.live[patch.TrainJob]
		read := trainjobs.Read(c.source.Name, live)
		errs = append(errs, newJobError(patch.Job, c.apply(ctx, patch.Job, plan.Run{Name: patch.TrainJob, Version: read.Version}, live)))
	}
	return errors.Join(errs...)
}

// apply writes the TrainJob of a run. The parameter "live" is the TrainJob in the cluster, or nil to create it. If
// somebody else created a TrainJob with this name after the plan was made, apply writes nothing.
func (c *changes) apply(ctx context.Context, job string, run plan.Run, live *trainer.TrainJob) error {
	object, err := trainjobs.Object(c.source.Name, c.inGit[job], c.jobs[job], run, live)
	if err != nil {
		return err
	}
	if live == nil {
		var other trainer.TrainJob
		err := c.client.Get(ctx, client.ObjectKeyFromObject(object), &other)
		if err == nil && trainjobs.Read(c.source.Name, &other).Job != job {
			return fmt.Errorf("creating %s: the name was taken just now; the next round chooses another name", describe(run.Name, job))
		}
		if client.IgnoreNotFound(err) != nil {
			return fmt.Errorf("creating %s: %w", describe(run.Name, job), err)
		}
	}
	if err := c.client.Apply(ctx, client.ApplyConfigurationFromUnstructured(object), client.FieldOwner(fieldManager)); err != nil {
		return fmt.Errorf("applying %s: %w", describe(run.Name, job), err)
	}
	return nil
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
