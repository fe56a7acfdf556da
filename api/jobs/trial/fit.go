package trial

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	jobset "sigs.k8s.io/jobset/api/jobset/v1alpha2"

	"github.com/trainyard/trainyard/api/jobs"
)

// UnfitError says that a runtime starts no MPI ranks over SSH, so that there is nothing to try.
type UnfitError struct{ Runtime, Lack string }

// Error says what the runtime lacks.
func (e *UnfitError) Error() string { return e.Runtime + " cannot be tried: it has no " + e.Lack }

// fits looks for what every MPI runtime has.
func fits(runtime jobs.Runtime) error {
	if policy := runtime.Spec.MLPolicy; policy == nil || policy.MPI == nil {
		return &UnfitError{runtime.String(), "mlPolicy.mpi, so it is not for MPI"}
	}
	for _, role := range []jobs.Role{jobs.Launcher, jobs.Node} {
		replicated := runtime.Spec.Template.Spec.ReplicatedJobs
		at := slices.IndexFunc(replicated, func(r jobset.ReplicatedJob) bool { return jobs.Role(r.Name) == role })
		if at < 0 {
			return &UnfitError{runtime.String(), "replicatedJob " + string(role)}
		}
		containers := replicated[at].Template.Spec.Template.Spec.Containers
		if !slices.ContainsFunc(containers, func(c corev1.Container) bool { return c.Name == jobs.Main }) {
			return &UnfitError{runtime.String(), "container " + jobs.Main + " in replicatedJob " + string(role)}
		}
	}
	return nil
}
