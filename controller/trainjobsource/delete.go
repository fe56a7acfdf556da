package trainjobsource

import (
	"context"
	"fmt"
	"time"

	trainer "github.com/kubeflow/trainer/v2/pkg/apis/trainer/v1alpha1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"github.com/trainyard/trainyard/api/v1alpha1"
	"github.com/trainyard/trainyard/controller/trainjobsource/decode"
	"github.com/trainyard/trainyard/controller/trainjobsource/trainjobs"
)

// finalizer keeps a deleted TrainJobSource until its runs (the TrainJobs that were created for it) are deleted.
const finalizer = v1alpha1.Group + "/prune"

// deletionDelay is the time after which the controller checks again whether all runs are deleted. The next round
// starts earlier if a TrainJob is deleted in the meantime.
const deletionDelay = 10 * time.Second

// needsFinalizer reports whether the TrainJobSource needs the finalizer. With the finalizer, the
// controller can delete the runs of a deleted TrainJobSource. Without the finalizer, a deleted
// TrainJobSource disappears at once, and its runs stay.
func (r *round) needsFinalizer() bool {
	return r.source.Spec.Prune == v1alpha1.PruneAlways && !r.source.Spec.DryRun
}

// setFinalizer adds or removes the finalizer.
func (r *round) setFinalizer(ctx context.Context, wanted bool) error {
	if controllerutil.ContainsFinalizer(r.source, finalizer) == wanted {
		return nil
	}
	changed := r.source.DeepCopy()
	if wanted {
		controllerutil.AddFinalizer(changed, finalizer)
	} else {
		controllerutil.RemoveFinalizer(changed, finalizer)
	}
	patch := client.MergeFromWithOptions(r.source.DeepCopy(), client.MergeFromWithOptimisticLock{})
	if err := r.Client.Patch(ctx, changed, patch); client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("changing the finalizer: %w", err)
	}
	return nil
}

// delete removes the finalizer of a TrainJobSource that is being deleted. If spec.prune is Always, the runs of the
// TrainJobSource are deleted before the finalizer is removed. However, the runs are kept if the TrainJobSource is
// suspended, or if spec.dryRun is true.
func (r *round) delete(ctx context.Context) (ctrl.Result, error) {
	if !controllerutil.ContainsFinalizer(r.source, finalizer) {
		return ctrl.Result{}, nil
	}
	if r.needsFinalizer() && !r.source.Spec.Suspend {
		if again, err := r.prune(ctx); again > 0 || err != nil {
			return ctrl.Result{RequeueAfter: again}, err
		}
	}
	return ctrl.Result{}, r.setFinalizer(ctx, false)
}

// prune deletes all runs. The result "again" is the time until prune must be called again, or 0 if no run is
// left.
func (r *round) prune(ctx context.Context) (again time.Duration, err error) {
	defer r.release()
	if !r.reserve(ctx) {
		return busyDelay, r.writeStatus(ctx) // it may say what the deletion waits for
	}
	left, err := r.deleteRuns(ctx)
	switch {
	case left < 0:
		return 0, err
	case left == 0:
		return 0, nil
	}
	text := fmt.Sprintf("deleting %s, because spec.prune is Always", count(left, "TrainJob"))
	if err != nil {
		text += ": " + err.Error()
	}
	r.setCondition(v1alpha1.ReconcilingCondition, "True", v1alpha1.ReasonProgressing, text)
	return deletionDelay, r.writeStatus(ctx)
}

// deleteRuns deletes all runs, and returns the number of runs that still exist. If this number is unknown, deleteRuns
// returns -1. If no run is left, the caller can ignore an error. Such errors can occur while the namespace is being
// deleted. The controller impersonates a ServiceAccount of this namespace, and the rights of this ServiceAccount may
// already be deleted.
func (r *round) deleteRuns(ctx context.Context) (left int, err error) {
	r.result, err = r.Rounds.Reconcile(ctx, r.settings(), decode.Tree{}, nil)
	var runs trainer.TrainJobList
	labels := client.MatchingLabels{trainjobs.SourceLabel: r.source.Name}
	if listErr := r.Reader.List(ctx, &runs, client.InNamespace(r.source.Namespace), labels); listErr != nil {
		return -1, fmt.Errorf("listing TrainJobs: %w", listErr)
	}
	for i := range runs.Items {
		if trainjobs.Read(r.source.Name, &runs.Items[i]).Job != "" { // not a TrainJob of a user with the same labels
			left++
		}
	}
	return left, err
}
