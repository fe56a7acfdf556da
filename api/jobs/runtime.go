package jobs

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	trainer "github.com/kubeflow/trainer/v2/pkg/apis/trainer/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/utils/ptr"
)

// Runtime is a ClusterTrainingRuntime or a TrainingRuntime.
type Runtime struct {
	// Kind is trainer.ClusterTrainingRuntimeKind or trainer.TrainingRuntimeKind.
	Kind string
	// Name is the field metadata.name of the runtime.
	Name string
	// Spec is the field "spec" of the runtime, which has the same type in ClusterTrainingRuntimes
	// and in TrainingRuntimes.
	Spec trainer.TrainingRuntimeSpec
}

// String returns the kind and the name, for example "TrainingRuntime mpi".
func (r Runtime) String() string { return r.Kind + " " + r.Name }

// Ref returns the value of the field runtimeRef for a TrainJob that uses the runtime.
func (r Runtime) Ref() trainer.RuntimeRef {
	return trainer.RuntimeRef{Name: r.Name, APIGroup: ptr.To(trainer.GroupVersion.Group), Kind: ptr.To(r.Kind)}
}

// UnknownRuntimeError reports that no runtime has the requested name.
type UnknownRuntimeError struct {
	// Name is the requested name, and Namespace is the namespace of the TrainJob.
	Name, Namespace string
	// Known contains the sorted names of all runtimes that a TrainJob in the namespace can use.
	Known []string
}

// Error returns a message that lists the known runtimes.
func (e *UnknownRuntimeError) Error() string {
	if len(e.Known) == 0 {
		return fmt.Sprintf("there is no runtime %q: the cluster and namespace %s have no runtimes", e.Name, e.Namespace)
	}
	return fmt.Sprintf("there is no runtime %q: the cluster and namespace %s have the runtimes %s", e.Name, e.Namespace, strings.Join(e.Known, ", "))
}

// AmbiguousRuntimeError reports that a ClusterTrainingRuntime and a TrainingRuntime both have the requested name.
type AmbiguousRuntimeError struct{ Name string }

// Error returns a message that identifies the two runtimes by kind and name, such as
// trainingruntime/mpi.
func (e *AmbiguousRuntimeError) Error() string {
	return fmt.Sprintf("both a ClusterTrainingRuntime and a TrainingRuntime are named %q: use clustertrainingruntime/%[1]s or trainingruntime/%[1]s", e.Name)
}

// ErrNoTrainer reports that Kubeflow Trainer is not installed: the API of the cluster does not have Trainer's kinds.
var ErrNoTrainer = errors.New("the cluster has no Kubeflow Trainer V2: the API server does not have the kind ClusterTrainingRuntime")

// Runtime finds a runtime by name among the runtimes that TrainJobs in a namespace can use. The name can begin with
// the kind, for example "trainingruntime/mpi". The error is an *UnknownRuntimeError, an *AmbiguousRuntimeError,
// ErrNoTrainer, or an error of the API server.
func (j Jobs) Runtime(ctx context.Context, namespace, name string) (Runtime, error) {
	kind, bare, qualified := strings.Cut(name, "/")
	if !qualified {
		kind, bare = "", name
	}
	all, hidden, err := j.listRuntimes(ctx, namespace)
	if err != nil {
		return Runtime{}, err
	}
	found := slices.DeleteFunc(slices.Clone(all), func(r Runtime) bool {
		return r.Name != bare || kind != "" && !strings.EqualFold(kind, r.Kind)
	})
	switch len(found) {
	case 0:
		if hidden != nil {
			return Runtime{}, hidden // the name may belong to a runtime that the user is not allowed to list
		}
		return Runtime{}, &UnknownRuntimeError{Name: name, Namespace: namespace, Known: namesOf(all)}
	case 1:
		return found[0], nil
	}
	return Runtime{}, &AmbiguousRuntimeError{Name: name}
}

// listRuntimes lists the runtimes that TrainJobs in a namespace can use. There are two kinds of runtimes:
// ClusterTrainingRuntimes and TrainingRuntimes. If the user has the permission to list only one kind, listRuntimes
// returns the runtimes of this kind. In this case, the result "hidden" is an error which says that the user is not
// allowed to list the other kind.
func (j Jobs) listRuntimes(ctx context.Context, namespace string) (all []Runtime, hidden, err error) {
	var shared trainer.ClusterTrainingRuntimeList
	if err := j.trainer.Get().Resource("clustertrainingruntimes").Do(ctx).Into(&shared); apierrors.IsNotFound(err) {
		return nil, nil, ErrNoTrainer // the API server returns an empty list for a kind without objects, and NotFound only for an unknown kind
	} else if err != nil {
		hidden = fmt.Errorf("listing ClusterTrainingRuntimes: %w", err)
	}
	if hidden != nil && !apierrors.IsForbidden(hidden) {
		return nil, nil, hidden
	}
	for _, r := range shared.Items {
		all = append(all, Runtime{trainer.ClusterTrainingRuntimeKind, r.Name, r.Spec})
	}
	var own trainer.TrainingRuntimeList
	if err := j.trainer.Get().Namespace(namespace).Resource("trainingruntimes").Do(ctx).Into(&own); err != nil {
		err = fmt.Errorf("listing TrainingRuntimes in namespace %s: %w", namespace, err)
		if hidden != nil || !apierrors.IsForbidden(err) {
			return nil, nil, err
		}
		hidden = err
	}
	for _, r := range own.Items {
		all = append(all, Runtime{trainer.TrainingRuntimeKind, r.Name, r.Spec})
	}
	return all, hidden, nil
}

func namesOf(all []Runtime) []string {
	names := make([]string, len(all))
	for i, r := range all {
		names[i] = r.Name
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// LauncherIsNode reports whether ranks also run in the launcher.
func (r Runtime) LauncherIsNode() bool {
	policy := r.Spec.MLPolicy
	return policy != nil && policy.MPI != nil && ptr.Deref(policy.MPI.RunLauncherAsNode, false)
}

// HasPreflight reports whether the launcher has the init container "preflight". Before mpirun starts, the preflight
// checks that all hosts can be reached.
func (r Runtime) HasPreflight() bool { return r.preflight() != nil }

// PreflightTimeoutVariable is the environment variable that sets the timeout of preflight, in seconds (runtimes/init.cue).
const PreflightTimeoutVariable = "PREFLIGHT_TIMEOUT_SECONDS"

// PreflightTimeout returns the time after which preflight stops trying to reach hosts. The result is 0 if the
// runtime has no preflight, or does not set this timeout.
func (r Runtime) PreflightTimeout() time.Duration {
	container := r.preflight()
	if container == nil {
		return 0
	}
	for _, v := range container.Env {
		if seconds, err := strconv.Atoi(v.Value); err == nil && v.Name == PreflightTimeoutVariable {
			return time.Duration(seconds) * time.Second
		}
	}
	return 0
}

func (r Runtime) preflight() *corev1.Container {
	for _, job := range r.Spec.Template.Spec.ReplicatedJobs {
		for _, c := range job.Template.Spec.Template.Spec.InitContainers {
			if Role(job.Name) == Launcher && c.Name == PreflightContainer {
				return &c
			}
		}
	}
	return nil
}

// RuntimeNames returns the sorted names of all runtimes that TrainJobs in a namespace can use.
func (j Jobs) RuntimeNames(ctx context.Context, namespace string) ([]string, error) {
	all, _, err := j.listRuntimes(ctx, namespace)
	return namesOf(all), err
}
