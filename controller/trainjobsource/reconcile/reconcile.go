// Package reconcile makes the TrainJobs in a namespace match the TrainJobs that a TrainJobSource has in Git.
//
// Each call of Reconcile is one round. A round first reads the record and the TrainJobs, and makes a plan. The round then
// writes the names of the new runs into the record, and changes the TrainJobs. Finally, the round marks the new runs as
// created in the record. If the controller crashes at any point of a round, the next round continues the work. If there is
// nothing to change, a round writes nothing.
//
// A run can start twice only if two things happen: a crash or a failed request prevents the controller from
// marking the run as created, and a user deletes the TrainJob of the run before the next round.
package reconcile

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trainyard/trainyard/controller/trainjobsource/decode"
	"github.com/trainyard/trainyard/controller/trainjobsource/plan"
	"github.com/trainyard/trainyard/controller/trainjobsource/trainjobs"
)

// Source identifies a TrainJobSource, and holds the settings of a round.
type Source struct {
	Namespace, Name string
	// Account is the name of the ServiceAccount that the controller impersonates to read and write TrainJobs.
	Account string
	Policy  plan.Policy
	// Retries maps the name of a job to the text of the retry annotation that the TrainJobSource has for this job. If
	// the text gets a new value that is not empty, the job runs again. If the TrainJobSource has no retry annotation
	// for a job, the map does not contain this job.
	Retries map[string]string
	// If DryRun is true, Reconcile makes a plan, but changes neither the record nor TrainJobs.
	DryRun bool
}

// Reconciler runs the rounds of all TrainJobSources. Two Reconcilers must not handle the same namespace.
type Reconciler struct {
	// Records is the client for the ConfigMaps that contain the records of TrainJobSources. These ConfigMaps are in
	// v1alpha1.SystemNamespace. The client has the permissions of the controller, and uses no cache.
	Records client.Client
	// TrainJobs is a function that returns a client for the TrainJobs of a namespace. The client has the
	// permissions of a ServiceAccount of the namespace, and uses no cache.
	TrainJobs func(namespace, account string) (client.Client, error)
	// Exists reports whether a TrainJobSource exists. It must not use a cache.
	Exists func(ctx context.Context, namespace, name string) (bool, error)
	Now    func() time.Time

	namespaces sync.Map // the *sync.Mutex of each namespace
}

// Result is the outcome of a round.
type Result struct {
	States    map[string]plan.State    // by the name of the job in Git
	Record    plan.Record              // the record after the round
	TrainJobs map[string]plan.TrainJob // the TrainJobs of the namespace before the round, by name
	Taken     map[string]string        // the jobs of other TrainJobSources, with the names of these TrainJobSources
	// Created and Deleted list the names of the TrainJobs that the round created and deleted.
	Created, Deleted []string
	Changed          bool // whether the round wrote the record, or tried to change TrainJobs; if so, another round may be necessary
}

// TryLock reserves a namespace for a round, and returns the function that ends the reservation. TryLock returns nil at once
// if another round has reserved the namespace. Without reservations, two rounds could start the same job, because two
// TrainJobSources can contain the job. TryLock does not wait for a round that has reserved the namespace, because a slow API
// server can make a round take minutes.
func (r *Reconciler) TryLock(namespace string) (unlock func()) {
	found, _ := r.namespaces.LoadOrStore(namespace, &sync.Mutex{})
	lock := found.(*sync.Mutex)
	if !lock.TryLock() {
		return nil
	}
	return lock.Unlock
}

// Reconcile runs a round for a TrainJobSource. The caller must have reserved the namespace with TryLock. Reconcile
// starts no runs of the jobs in the argument "denied". If the API server refuses to create, change or delete a
// TrainJob, Reconcile still makes the other changes. The returned error joins the errors of all changes. If the
// creation, change or deletion of a TrainJob fails, the error for this TrainJob is a *JobError.
func (r *Reconciler) Reconcile(ctx context.Context, s Source, tree decode.Tree, denied map[string]bool) (Result, error) {
	ctx, stop := withPulse(ctx)
	defer stop()
	all, err := r.readRecords(ctx, s)
	if err != nil {
		return Result{}, err
	}
	c, err := r.TrainJobs(s.Namespace, s.Account)
	if err != nil {
		return Result{}, fmt.Errorf("connecting as ServiceAccount %s of namespace %s: %w", s.Account, s.Namespace, err)
	}
	changes := changes{client: c, source: s, inGit: map[string]*unstructured.Unstructured{}}
	in := plan.Input{Policy: s.Policy, Record: all.own, Incomplete: len(tree.Problems) > 0, Now: r.Now().Unix()}
	if in.TrainJobs, err = changes.read(ctx); err != nil {
		return Result{}, err
	}
	if in.Jobs, err = changes.readGit(tree, denied); err != nil {
		return Result{}, err
	}
	if in.Taken, err = r.findTaken(ctx, s, all, in); err != nil {
		return Result{}, err
	}
	p := plan.Make(in)
	result := Result{States: p.States, Record: p.Record, TrainJobs: in.TrainJobs, Taken: in.Taken}
	if s.DryRun {
		return result, nil
	}
	var full []error
	if err := all.checkRoom(s.Namespace, p); err != nil {
		for _, create := range p.Create {
			full = append(full, newJobError(create.Job, err))
		}
		for _, job := range p.Replaced {
			full = append(full, newJobError(job, err))
		}
		p = plan.Make(in.WithoutNewRuns())
		result.Record = p.Record
	}
	err = r.carryOut(ctx, &changes, &all, p, &result)
	return result, errors.Join(append(full, err)...)
}

// carryOut writes the new record if it differs from the old record, and then carries out a plan. If TrainJobs were
// created, carryOut marks their runs as created, and writes the record with these marks.
func (r *Reconciler) carryOut(ctx context.Context, c *changes, all *records, p plan.Plan, result *Result) error {
	wrote, err := r.writeRecord(ctx, c.source, all, p.Record)
	if err != nil {
		return err
	}
	result.Changed = wrote || len(p.Create)+len(p.Delete)+len(p.Patch) > 0
	err = c.carryOut(ctx, p)
	result.Deleted = c.deleted
	for _, create := range c.created {
		result.Created = append(result.Created, create.Run.Name)
	}
	if len(c.created) == 0 {
		return err
	}
	result.Record = p.Record.Confirmed(c.created)
	_, failed := r.writeRecord(ctx, c.source, all, result.Record)
	return errors.Join(err, failed)
}

// readGit converts the jobs of the tree to the form that a plan needs.
func (c *changes) readGit(tree decode.Tree, denied map[string]bool) (map[string]plan.Job, error) {
	c.jobs = map[string]plan.Job{}
	for _, job := range tree.Jobs {
		read, err := trainjobs.Job(job.Object)
		if err != nil {
			return nil, fmt.Errorf("%s:%d: %w", job.File, job.Line, err)
		}
		read.Denied = denied[job.Name()]
		read.Request = trainjobs.ShortText(c.source.Retries[job.Name()])
		c.jobs[job.Name()], c.inGit[job.Name()] = read, job.Object
	}
	return c.jobs, nil
}
