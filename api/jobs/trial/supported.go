package trial

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	jobset "sigs.k8s.io/jobset/api/jobset/v1alpha2"

	"github.com/trainyard/trainyard/api/jobs"
)

// UnsupportedRuntimeError reports that a trial cannot test a runtime, because the runtime does not start MPI ranks
// over SSH.
type UnsupportedRuntimeError struct{ Runtime, Missing string }

// Error returns a message that names the field that the runtime lacks.
func (e *UnsupportedRuntimeError) Error() string {
	return e.Runtime + " cannot be tested: it has no " + e.Missing
}

// requireSupport returns an *UnsupportedRuntimeError if a runtime lacks a field that every MPI runtime has.
func requireSupport(runtime jobs.Runtime) error {
	if policy := runtime.Spec.MLPolicy; policy == nil || policy.MPI == nil {
		return &UnsupportedRuntimeError{runtime.String(), "mlPolicy.mpi, which every MPI runtime has"}
	}
	for _, role := range []jobs.Role{jobs.Launcher, jobs.Node} {
		replicated := runtime.Spec.Template.Spec.ReplicatedJobs
		at := slices.IndexFunc(replicated, func(r jobset.ReplicatedJob) bool { return jobs.Role(r.Name) == role })
		if at < 0 {
			return &UnsupportedRuntimeError{runtime.String(), "replicatedJob " + string(role)}
		}
		containers := replicated[at].Template.Spec.Template.Spec.Containers
		if !slices.ContainsFunc(containers, func(c corev1.Container) bool { return c.Name == jobs.MainContainer }) {
			return &UnsupportedRuntimeError{runtime.String(), "container " + jobs.MainContainer + " in replicatedJob " + string(role)}
		}
	}
	return nil
}
