// Package sources reads and changes TrainJobSources, for commands and servers. Texts in the results of package
// sources are safe to print on a terminal.
package sources

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/trainyard/trainyard/api/jobs"
	"github.com/trainyard/trainyard/api/v1alpha1"
)

// Cluster reads and changes the TrainJobSources of one cluster, with the permissions of one user. Errors of a Cluster
// wrap the errors of the API server.
type Cluster interface {
	// List lists the TrainJobSources of a namespace, or of all namespaces if the namespace is empty.
	List(ctx context.Context, namespace string) ([]v1alpha1.TrainJobSource, error)
	// Get reads one TrainJobSource.
	Get(ctx context.Context, key types.NamespacedName) (v1alpha1.TrainJobSource, error)
	// Patch changes one TrainJobSource with a JSON merge patch (RFC 7386), and returns the changed object.
	Patch(ctx context.Context, key types.NamespacedName, patch []byte) (v1alpha1.TrainJobSource, error)
}

// Sources is a client for TrainJobSources.
type Sources struct{ cluster Cluster }

// New creates a client for the TrainJobSources of a cluster.
func New(cluster Cluster) Sources { return Sources{cluster} }

// List lists the TrainJobSources of a namespace, or of all namespaces if the namespace is empty. The result is sorted
// by namespace and name. The error is ErrNotInstalled or an error of the API server.
func (s Sources) List(ctx context.Context, namespace string) ([]Overview, error) {
	all, err := s.list(ctx, namespace)
	if err != nil {
		return nil, err
	}
	overviews := make([]Overview, len(all))
	for i, source := range all {
		overviews[i] = overviewOf(source)
	}
	slices.SortFunc(overviews, func(a, b Overview) int {
		return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
	})
	return overviews, nil
}

func (s Sources) list(ctx context.Context, namespace string) ([]v1alpha1.TrainJobSource, error) {
	all, err := s.cluster.List(ctx, namespace)
	if apierrors.IsNotFound(err) {
		return nil, ErrNotInstalled // for a known kind without objects, the API server returns an empty list
	}
	return all, err
}

// Get reads a TrainJobSource. The error is an *UnknownSourceError, ErrNotInstalled or an error of the API server.
func (s Sources) Get(ctx context.Context, key types.NamespacedName) (View, error) {
	source, err := s.get(ctx, key)
	if err != nil {
		return View{}, err
	}
	return viewOf(source), nil
}

func (s Sources) get(ctx context.Context, key types.NamespacedName) (v1alpha1.TrainJobSource, error) {
	source, err := s.cluster.Get(ctx, key)
	if apierrors.IsNotFound(err) {
		err = s.explainMissing(ctx, key)
	}
	return source, err
}

// explainMissing returns the error for a TrainJobSource that was not found. To find the reason, explainMissing lists
// the TrainJobSources of the namespace. If the list request shows that the cluster does not have the kind
// TrainJobSource, the error is ErrNotInstalled. If the list request succeeds, the cluster has this kind, so the error
// is an *UnknownSourceError. The error is also an *UnknownSourceError if the user is not allowed to list
// TrainJobSources. If the list request fails for another reason, explainMissing returns the error of the list request.
func (s Sources) explainMissing(ctx context.Context, key types.NamespacedName) error {
	all, err := s.list(ctx, key.Namespace)
	if err != nil && !apierrors.IsForbidden(err) {
		return err
	}
	unknown := &UnknownSourceError{Source: key, Hidden: err != nil}
	for _, source := range all {
		unknown.Known = append(unknown.Known, source.Name)
	}
	slices.Sort(unknown.Known)
	return unknown
}

// Suspend suspends or resumes a TrainJobSource. If the parameter "suspend" is true, Suspend sets spec.suspend to true,
// and the controller stops fetching commits and applying TrainJobs. If the parameter "suspend" is false, Suspend
// removes the field spec.suspend. Suspend reports whether it changed the TrainJobSource.
func (s Sources) Suspend(ctx context.Context, key types.NamespacedName, suspend bool) (changed bool, err error) {
	source, err := s.get(ctx, key)
	if err != nil || source.Spec.Suspend == suspend {
		return false, err
	}
	var value any // null removes the field, so that the spec equals the manifest in Git again
	if suspend {
		value = true
	}
	_, err = s.patch(ctx, key, "spec", map[string]any{"suspend": value})
	return err == nil, err
}

// Retry requests another run of a job, even if the job has not changed in Git. The status of a TrainJobSource lists all
// jobs or only some of the jobs. If the status lists all jobs, the requested job must be one of the listed jobs. If the
// status lists only some of the jobs, Retry accepts every valid name of a job. The error is an *UnknownJobError, an
// *InvalidJobError or an error of Get.
func (s Sources) Retry(ctx context.Context, key types.NamespacedName, job string, now time.Time) (View, error) {
	view, err := s.Get(ctx, key)
	if err != nil {
		return View{}, err
	}
	if err := requireJob(view, key, job); err != nil {
		return View{}, err
	}
	source, err := s.annotate(ctx, key, v1alpha1.RetryAnnotationPrefix+job, timestamp(now))
	if err != nil {
		return View{}, err
	}
	return viewOf(source), nil
}

func requireJob(view View, key types.NamespacedName, job string) error {
	names := view.JobNames()
	switch {
	case slices.Contains(names, job):
		return nil
	case view.UnlistedJobs() == 0:
		return &UnknownJobError{Source: key, Job: job, Known: names}
	case len(validation.IsDNS1123Label(job)) > 0:
		return &InvalidJobError{Job: job}
	}
	return nil
}

// SyncRequest is a request to fetch the Git repository of a TrainJobSource.
type SyncRequest struct {
	key    types.NamespacedName
	value  string // of the annotation
	before string // status.lastSync at the time of the request
}

// RequestSync asks the controller to fetch the Git repository at once, before the interval has passed. The error is a
// *SuspendedError or an error of Get.
func (s Sources) RequestSync(ctx context.Context, key types.NamespacedName, now time.Time) (SyncRequest, error) {
	source, err := s.get(ctx, key)
	if err != nil {
		return SyncRequest{}, err
	}
	if source.Spec.Suspend {
		return SyncRequest{}, &SuspendedError{Source: key}
	}
	value := timestamp(now)
	source, err = s.annotate(ctx, key, v1alpha1.SyncAnnotation, value)
	return SyncRequest{key: key, value: value, before: source.Status.LastSync}, err
}

// pollInterval is the time between two requests of WaitForSync.
const pollInterval = 500 * time.Millisecond

// WaitForSync waits until the requested fetch or a later fetch is done, and returns the TrainJobSource. WaitForSync
// retries if the API server does not respond. If somebody suspends the TrainJobSource, the error is a
// *SuspendedError. If the context ends, the error wraps context.Cause.
func (s Sources) WaitForSync(ctx context.Context, request SyncRequest) (View, error) {
	for {
		source, err := s.get(ctx, request.key)
		switch {
		case err == nil && source.Spec.Suspend:
			return View{}, &SuspendedError{Source: request.key}
		case err == nil && request.isDone(source):
			return viewOf(source), nil
		case err != nil && !isRetryable(err):
			return View{}, err
		}
		select {
		case <-ctx.Done():
			return View{}, fmt.Errorf("waiting for the fetch of TrainJobSource %s: %w", request.key, context.Cause(ctx))
		case <-time.After(pollInterval):
		}
	}
}

// isDone returns true if the requested fetch has ended, and the controller has applied the fetched commit or failed to
// apply it. A later request, for example from a webhook, can replace the value of SyncAnnotation. isDone also returns
// true after the fetch for this later request.
func (r SyncRequest) isDone(source v1alpha1.TrainJobSource) bool {
	last := source.Status.LastSync
	replaced := last != "" && last == source.Annotations[v1alpha1.SyncAnnotation] && last != r.before
	return (last == r.value || replaced) && !isProgressing(source)
}

func isProgressing(source v1alpha1.TrainJobSource) bool {
	return slices.ContainsFunc(source.Status.Conditions, func(c metav1.Condition) bool {
		return c.Type == v1alpha1.ReconcilingCondition && c.Status == metav1.ConditionTrue && c.Reason == v1alpha1.ReasonProgressing
	})
}

func isRetryable(err error) bool {
	var unknown *UnknownSourceError
	return !errors.As(err, &unknown) && !errors.Is(err, ErrNotInstalled) && jobs.IsRetryable(err)
}

func (s Sources) annotate(ctx context.Context, key types.NamespacedName, name, value string) (v1alpha1.TrainJobSource, error) {
	return s.patch(ctx, key, "metadata", map[string]any{"annotations": map[string]string{name: value}})
}

// patch changes fields in the section "metadata" or "spec" of a TrainJobSource.
func (s Sources) patch(ctx context.Context, key types.NamespacedName, section string, fields map[string]any) (v1alpha1.TrainJobSource, error) {
	text, err := json.Marshal(map[string]any{section: fields})
	if err != nil {
		return v1alpha1.TrainJobSource{}, fmt.Errorf("writing a patch: %w", err)
	}
	source, err := s.cluster.Patch(ctx, key, text)
	if apierrors.IsNotFound(err) {
		err = s.explainMissing(ctx, key)
	}
	return source, err
}

func timestamp(now time.Time) string { return now.UTC().Format(time.RFC3339Nano) }
