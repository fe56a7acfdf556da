// Package reconcile makes the TrainJobs of a namespace match the TrainJobs of a TrainJobSource in Git.
//
// Each call of Reconcile is one round: it reads the record and the TrainJobs, makes a plan, writes the record, and then
// changes TrainJobs. After a crash at any point, the next round continues. A round without a difference writes nothing.
package reconcile

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	trainer "github.com/kubeflow/trainer/v2/pkg/apis/trainer/v1alpha1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trainyard/trainyard/controller/trainjobsource/decode"
	"github.com/trainyard/trainyard/controller/trainjobsource/plan"
	"github.com/trainyard/trainyard/controller/trainjobsource/trainjobs"
)

// Source identifies a TrainJobSource, and holds the settings of a round.
type Source struct {
	Namespace, Name string
	Policy          plan.Policy
}

// Reconciler makes rounds for all TrainJobSources. Only one Reconciler may run in a cluster.
type Reconciler struct {
	// Records reads and writes ConfigMaps in v1alpha1.SystemNamespace, with the permissions of the controller and without
	// a cache.
	Records client.Client
	// TrainJobs returns a client for the TrainJobs of a namespace, with the permissions of the tenant's
	// ServiceAccount and without a cache.
	TrainJobs func(namespace string) (client.Client, error)
	Now       func() time.Time

	namespaces sync.Map // the lock of each namespace, as *sync.Mutex
}

// Result is the outcome of a round.
type Result struct {
	States  map[string]plan.State // by the name of the job in Git
	Changed bool                  // whether the round wrote anything, so that another round may be necessary
}

// Reconcile makes a round for a TrainJobSource. A change that the API server refuses does not prevent the other
// changes; the error then lists all refused changes.
func (r *Reconciler) Reconcile(ctx context.Context, s Source, tree decode.Tree) (Result, error) {
	// Two rounds in one namespace could start the same job of two TrainJobSources.
	lock, _ := r.namespaces.LoadOrStore(s.Namespace, &sync.Mutex{})
	lock.(*sync.Mutex).Lock()
	defer lock.(*sync.Mutex).Unlock()

	all, err := r.readRecords(ctx, s)
	if err != nil {
		return Result{}, err
	}
	c, err := r.TrainJobs(s.Namespace)
	if err != nil {
		return Result{}, fmt.Errorf("connecting as the ServiceAccount of namespace %s: %w", s.Namespace, err)
	}
	changes := changes{client: c, source: s, inGit: map[string]*unstructured.Unstructured{}}
	in := plan.Input{Policy: s.Policy, Jobs: map[string]plan.Job{}, Record: all.own, Incomplete: len(tree.Problems) > 0, Now: r.Now().Unix()}
	if in.TrainJobs, err = changes.read(ctx); err != nil {
		return Result{}, err
	}
	in.Taken = all.taken(func(name string) bool { return in.TrainJobs[name].Phase == plan.Active })
	for _, job := range tree.Jobs {
		if in.Jobs[job.Name()], err = trainjobs.Job(job.Object); err != nil {
			return Result{}, fmt.Errorf("%s:%d: %w", job.File, job.Line, err)
		}
		changes.inGit[job.Name()] = job.Object
	}
	p := plan.Make(in)
	changes.jobs = in.Jobs
	wrote, err := r.writeRecord(ctx, s, all, p.Record)
	if err != nil {
		return Result{}, err
	}
	err = changes.carryOut(ctx, p)
	return Result{States: p.States, Changed: wrote || len(p.Create)+len(p.Delete)+len(p.Patch) > 0}, err
}

// fieldManager owns the fields of TrainJobs that come from Git.
const fieldManager = "trainyard-controller"

// changes changes the TrainJobs of a namespace.
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
		errs = append(errs, c.delete(ctx, c.live[name]))
	}
	for _, create := range p.Create {
		errs = append(errs, c.apply(ctx, create.Job, create.Run, nil))
	}
	for _, patch := range p.Patch {
		live := c.live[patch.TrainJob]
		read := trainjobs.Read(c.source.Name, live)
		errs = append(errs, c.apply(ctx, patch.Job, plan.Run{Name: patch.TrainJob, Version: read.Version}, live))
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
			return fmt.Errorf("creating TrainJob %s for job %s: the name was taken just now; the next round chooses another name", run.Name, job)
		}
		if client.IgnoreNotFound(err) != nil {
			return fmt.Errorf("creating TrainJob %s for job %s: %w", run.Name, job, err)
		}
	}
	if err := c.client.Apply(ctx, client.ApplyConfigurationFromUnstructured(object), client.FieldOwner(fieldManager)); err != nil {
		return fmt.Errorf("applying TrainJob %s of job %s: %w", run.Name, job, err)
	}
	return nil
}

// delete deletes a TrainJob, but not a TrainJob with the same name that somebody created after the plan was made.
func (c *changes) delete(ctx context.Context, live *trainer.TrainJob) error {
	err := c.client.Delete(ctx, live, client.Preconditions{UID: &live.UID}, client.PropagationPolicy("Foreground"))
	if client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("deleting TrainJob %s: %w", live.Name, err)
	}
	return nil
}
