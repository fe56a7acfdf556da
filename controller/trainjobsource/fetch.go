package trainjobsource

import (
	"context"
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trainyard/trainyard/api/v1alpha1"
	"github.com/trainyard/trainyard/controller/trainjobsource/fetch"
)

// fetch gets the newest commit if a fetch is due. If the fetch fails, the round goes on with the previous commit,
// unless this commit was discarded or dropped from memory. A waiting job can therefore start even if the Git server
// does not answer.
func (r *round) fetch(ctx context.Context) bool {
	r.commit, r.failure = r.memory.known(r.state), r.state.failure
	if !r.fetchIsDue() {
		return r.commit != nil
	}
	if left := r.readings.left(r.source.Namespace); left > 0 {
		return r.postponeFetch(ctx, r.now.Add(left))
	}
	if !r.slots.take(r.source.Namespace) {
		return r.waitFor("the fetches of other TrainJobSources, perhaps because a Git server does not answer")
	}
	defer r.slots.free(r.source.Namespace)
	r.fetched = true
	if r.state.generation != r.source.Generation {
		r.discardCommit() // it may be a commit of another repository
	}
	r.state.generation, r.state.sync = r.source.Generation, r.source.Annotations[v1alpha1.SyncAnnotation]
	r.state.failure = r.fetchCommit(ctx)
	r.failure = r.state.failure
	return r.commit != nil
}

// postponeFetch postpones the fetch of a TrainJobSource. The reason is that the controller has recently spent too much
// time on reading commits for the TrainJobSources in the same namespace. The round goes on with the previous commit if
// this commit is in memory and still valid. The commit is no longer valid if the spec of the TrainJobSource has changed
// since the last fetch. The commit is also not valid if the keys that verify commits have changed or cannot be read. If
// the round cannot go on, or if somebody has requested the fetch, the status says why the fetch is late.
func (r *round) postponeFetch(ctx context.Context, until time.Time) bool {
	r.postponed = until
	_, _ = r.readKeys(ctx) // discards the commit if the keys have changed, or cannot be read
	if r.state.generation != r.source.Generation {
		r.commit = nil
	}
	if r.commit == nil || r.isRequested() {
		r.failure = &failure{reason: v1alpha1.ReasonFetchFailed, postponed: true, message: fmt.Sprintf(
			"reading the commits of this namespace took very long, so the next fetch begins after %s: use fewer or smaller files and patches", until.UTC().Format(time.RFC3339))}
	}
	return r.commit != nil
}

// isRequested reports whether the spec of the TrainJobSource or its annotation trainyard.dev/sync has changed since the
// last fetch.
func (r *round) isRequested() bool {
	return r.state.generation != r.source.Generation || r.state.sync != r.source.Annotations[v1alpha1.SyncAnnotation]
}

// fetchIsDue reports whether the round must fetch. A fetch is due if somebody has requested it, if the time of the next
// fetch has come, or if the commit was dropped from memory. If the clock was set back, the time of the next fetch can
// be too far in the future. Therefore a fetch is also due if the time until the next fetch is longer than the longest
// possible interval.
func (r *round) fetchIsDue() bool {
	dropped := r.commit == nil && r.state.failure == nil
	left := r.state.due.Sub(r.now)
	return r.isRequested() || dropped || left <= 0 || left > longestSpread(r.source.Spec.Interval.Duration)
}

// fetchCommit fetches the commit. fetchCommit returns the reason why the fetch failed, or nil.
func (r *round) fetchCommit(ctx context.Context) *failure {
	ctx, cancel := context.WithTimeout(ctx, r.source.Spec.Timeout.Duration)
	defer cancel()
	request, err := r.fetchRequest(ctx)
	if err != nil {
		return fetchFailure(err)
	}
	defer r.Metrics.measureFetch()()
	fetched, err := r.Fetcher.Fetch(ctx, request)
	if err != nil {
		return fetchFailure(err)
	}
	if fetched.Files != nil {
		r.commit = &commit{hash: fetched.Commit, ref: fetched.Ref}
		r.readings.read(r.source.Namespace, func() { r.readCommit(fetched.Files) })
		r.state.keys = digestOf(request.Keys)
		r.memory.keep(r.state, r.commit)
	} else if r.commit != nil {
		r.commit.ref = fetched.Ref // for example, the commit has a new tag
	}
	r.state.fetched = r.now
	r.source.Status.Fetched = r.revision(r.source.Status.Fetched, fetched.Commit, fetched.Ref)
	return nil
}

// fetchRequest returns the request for the fetcher, with the data of the Secrets.
func (r *round) fetchRequest(ctx context.Context) (request fetch.Request, err error) {
	spec := r.source.Spec
	request.URL = spec.URL
	if spec.Ref != nil {
		request.Ref = *spec.Ref
	}
	if request.Keys, err = r.readKeys(ctx); err != nil {
		return request, err
	}
	if spec.SecretRef != nil {
		secret, err := r.secret(ctx, "spec.secretRef", spec.SecretRef.Name)
		if err != nil {
			return request, err
		}
		request.Secret, request.SecretHosts = orEmpty(secret.Data), secret.Annotations[v1alpha1.HostsAnnotation]
	}
	// With linearHistory, the new commit must descend from the last fetched commit, which is in Status.Fetched.
	// Status.Applied is not sufficient for this check, because Status.Applied can contain an older commit. For example,
	// a commit does not count as applied while one of its jobs has a problem. Other jobs of this commit may already
	// run.
	if fetched := r.source.Status.Fetched; fetched != nil && spec.Verify != nil && spec.Verify.LinearHistory {
		request.Ancestor = fetched.Commit
	}
	if r.commit != nil {
		request.Known = r.commit.hash
	}
	return request, nil
}

// readKeys returns the keys that verify commits, or nil if commits are not verified. If the keys cannot be read, or if
// they have changed since the commit in memory was verified, readKeys discards the commit. Somebody may have removed
// the key that signed this commit. After the commit was discarded, no further job of the commit starts until the commit
// is verified again.
func (r *round) readKeys(ctx context.Context) (map[string][]byte, error) {
	verify := r.source.Spec.Verify
	if verify == nil || verify.SecretRef == nil {
		return nil, nil
	}
	secret, err := r.secret(ctx, "spec.verify.secretRef", verify.SecretRef.Name)
	if err != nil {
		r.discardCommit()
		return nil, err
	}
	keys := orEmpty(secret.Data)
	if r.state.keys != digestOf(keys) {
		r.discardCommit()
	}
	return keys, nil
}

// discardCommit removes the commit from the round and from memory.
func (r *round) discardCommit() {
	r.commit = nil
	r.memory.discard(r.state)
}

// orEmpty replaces the nil data of an empty Secret by an empty map, because nil in a fetch.Request means that there is
// no Secret.
func orEmpty(data map[string][]byte) map[string][]byte {
	if data == nil {
		return map[string][]byte{}
	}
	return data
}

// secret returns a Secret of the namespace.
func (r *round) secret(ctx context.Context, field, name string) (*corev1.Secret, error) {
	secret := &corev1.Secret{}
	err := r.Reader.Get(ctx, client.ObjectKey{Namespace: r.source.Namespace, Name: name}, secret)
	switch {
	case apierrors.IsNotFound(err):
		return nil, &fetch.ConfigError{Message: fmt.Sprintf("%s: Secret %s does not exist", field, name)}
	case apierrors.IsForbidden(err):
		return nil, &fetch.ConfigError{Message: fmt.Sprintf("%s: the controller is not allowed to read Secret %s: add a Role that allows the controller to get this Secret", field, name)}
	case err != nil:
		return nil, fmt.Errorf("%s: reading Secret %s: %w", field, name, err)
	}
	return secret, nil
}

// fetchFailure converts the error of a fetch to a failure of the round.
func fetchFailure(err error) *failure {
	var config *fetch.ConfigError
	var verify *fetch.VerifyError
	switch {
	case errors.As(err, &verify):
		return &failure{reason: v1alpha1.ReasonVerificationFailed, stalled: true, message: err.Error()}
	case errors.As(err, &config):
		return &failure{reason: v1alpha1.ReasonFetchFailed, stalled: true, message: err.Error()}
	}
	return &failure{reason: v1alpha1.ReasonFetchFailed, message: err.Error()}
}
