package reconcile

import (
	"context"
	"errors"
	"fmt"
	"strings"

	trainer "github.com/kubeflow/trainer/v2/pkg/apis/trainer/v1alpha1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/client-go/util/csaupgrade"
	"k8s.io/client-go/util/retry"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trainyard/trainyard/controller/trainjobsource/plan"
	"github.com/trainyard/trainyard/controller/trainjobsource/trainjobs"
)

// JobError is the error for a TrainJob that could not be created, changed or deleted.
type JobError struct {
	Job string // the name of the job in Git
	err error
}

// Error returns the message of the wrapped error. Most messages contain the name of the TrainJob. If the job in Git has
// another name than the TrainJob, most messages also contain the name of the job.
func (e *JobError) Error() string { return e.err.Error() }

// Unwrap returns the wrapped error.
func (e *JobError) Unwrap() error { return e.err }

// newJobError returns a JobError for an error of a job, or nil if the error is nil.
func newJobError(job string, err error) error {
	if err == nil {
		return nil
	}
	return &JobError{job, err}
}

// fieldManager is the name of the field manager for all fields that the controller writes to TrainJobs.
const fieldManager = "trainyard-controller"

// changes is a struct with the state of one round. Its methods read the TrainJobs of a namespace, and carry out a plan.
type changes struct {
	client client.Client
	source Source
	inGit  map[string]*unstructured.Unstructured // by the name of the job
	jobs   map[string]plan.Job
	live   map[string]*trainer.TrainJob // by the name of the TrainJob

	overQuota error // the first refusal because of a quota in this round

	created []plan.Create // the runs that carryOut has created
	deleted []string      // the names of the TrainJobs that carryOut has deleted
}

// read is a method that lists all TrainJobs of the namespace. The method returns the TrainJobs in the form that a plan
// needs.
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
		errs = append(errs, newJobError(create.Job, c.create(ctx, create)))
	}
	for _, patch := range p.Patch {
		errs = append(errs, newJobError(patch.Job, c.patch(ctx, patch.Job, c.live[patch.TrainJob])))
	}
	return errors.Join(errs...)
}

// create sends a create request for the TrainJob of a run. create does not use server-side apply: if somebody else created
// a TrainJob with the same name after the plan was made, an apply would change this TrainJob.
//
// A ResourceQuota can limit the number of TrainJobs in a namespace, but not their size. A quota that refuses one new
// TrainJob therefore also refuses all other new TrainJobs of the namespace. So after the first refusal because of a
// quota, the method "create" sends no more requests in this round.
func (c *changes) create(ctx context.Context, create plan.Create) error {
	if c.overQuota != nil {
		return fmt.Errorf("creating %s: not tried, because an earlier request failed: %w", describe(create.Run.Name, create.Job), c.overQuota)
	}
	object, err := trainjobs.Object(c.source.Name, c.inGit[create.Job], c.jobs[create.Job], create.Run, nil)
	if err != nil {
		return err
	}
	err = c.client.Create(ctx, object, client.FieldOwner(fieldManager), client.FieldValidation(metav1.FieldValidationStrict))
	if apierrors.IsAlreadyExists(err) {
		err = c.expectRun(ctx, create)
	}
	if err != nil {
		if IsOverQuota(err) {
			c.overQuota = err
		}
		return fmt.Errorf("creating %s: %w", describe(create.Run.Name, create.Job), err)
	}
	c.created = append(c.created, create)
	return nil
}

// IsOverQuota reports whether an error means that the API server refused an object because of a quota of its namespace.
// The admission plugin ResourceQuota returns the error Forbidden, like other admission plugins, so only the text of the
// error shows that a quota is the reason. Other refusals can quote any text of a user, and this text can also mention a
// quota. Therefore, the text about the quota must directly follow the words "is forbidden".
func IsOverQuota(err error) bool {
	if !apierrors.IsForbidden(err) {
		return false
	}
	_, reason, _ := strings.Cut(err.Error(), " is forbidden: ")
	return strings.HasPrefix(reason, "exceeded quota: ") || strings.HasPrefix(reason, "status unknown for quota: ")
}

// expectRun checks an existing TrainJob that has the name of a new run. If the TrainJob belongs to another job or
// version, expectRun returns an error. The TrainJob can also be the result of an earlier create request for the new
// run. In this case, expectRun returns no error. The client repeats a create request after some errors of the API
// server. In spite of such an error, the first request may already have created the TrainJob.
func (c *changes) expectRun(ctx context.Context, create plan.Create) error {
	var found trainer.TrainJob
	if err := c.client.Get(ctx, client.ObjectKey{Namespace: c.source.Namespace, Name: create.Run.Name}, &found); err != nil {
		return err
	}
	if read := trainjobs.Read(c.source.Name, &found); read.Job != create.Job || read.Version != create.Run.Version {
		return errors.New("another TrainJob with this name was created just now: the controller will choose another name")
	}
	return nil
}

// patch copies the labels and annotations of a job to the TrainJob of the job.
func (c *changes) patch(ctx context.Context, job string, live *trainer.TrainJob) error {
	if err := c.convertManagedFields(ctx, live); err != nil {
		return fmt.Errorf("changing the managedFields of %s: %w", describe(live.Name, job), err)
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

// convertManagedFields changes the field "operation" of this program's managedFields entry from Update to Apply. A
// server-side apply removes only fields that its manager owns through Apply. Without the conversion, a label that Git
// no longer contains would stay. If somebody has changed the TrainJob since it was read, the request fails with a
// conflict. convertManagedFields then reads the TrainJob again, and repeats the request.
func (c *changes) convertManagedFields(ctx context.Context, live *trainer.TrainJob) error {
	uid := live.UID
	return retry.RetryOnConflict(retry.DefaultRetry, func() error {
		patch, err := csaupgrade.UpgradeManagedFieldsPatch(live, sets.New(fieldManager), fieldManager)
		if err != nil || patch == nil {
			return err
		}
		err = c.client.Patch(ctx, live, client.RawPatch(types.JSONPatchType, patch))
		if !apierrors.IsConflict(err) {
			return err
		}
		if err := c.client.Get(ctx, client.ObjectKeyFromObject(live), live); err != nil {
			return err
		}
		if live.UID != uid {
			return errors.New("the TrainJob was deleted and created again")
		}
		return err
	})
}

// describe returns the name of a TrainJob, and also the name of its job if the two names differ.
func describe(run, job string) string {
	if run == job {
		return "TrainJob " + run
	}
	return "TrainJob " + run + " of job " + job
}

// delete deletes the TrainJob that has the name and the UID of the argument "live". If another TrainJob with this name
// was created after the plan was made, its UID differs, and the method returns an error.
func (c *changes) delete(ctx context.Context, live *trainer.TrainJob) error {
	err := c.client.Delete(ctx, live, client.Preconditions{UID: &live.UID}, client.PropagationPolicy("Foreground"))
	if client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("deleting TrainJob %s: %w", live.Name, err)
	}
	c.deleted = append(c.deleted, live.Name)
	return nil
}
