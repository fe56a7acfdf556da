package trainjob

import (
	"context"
	"encoding/json"
	"fmt"

	trainer "github.com/kubeflow/trainer/v2/pkg/apis/trainer/v1alpha1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trainyard/trainyard/api/jobs"
	"github.com/trainyard/trainyard/api/v1alpha1"
)

// fieldOwner is the name under which this controller changes objects. The API server records this name in
// metadata.managedFields of each changed object.
const fieldOwner = "trainyard-" + controllerName

// annotate writes the phase and the message of a TrainJob into its annotations, unless the annotations are already up to
// date. annotate changes only trainyard's own annotations, so it cannot conflict with other programs.
func (c *Controller) annotate(ctx context.Context, snapshot jobs.Snapshot, s state) error {
	job := &snapshot.Job
	if c.ReadOnly || !job.DeletionTimestamp.IsZero() {
		return nil
	}
	wanted := map[string]any{v1alpha1.PhaseAnnotation: string(s.Phase), v1alpha1.MessageAnnotation: s.Message, v1alpha1.ObservedAnnotation: string(job.UID) + s.mark()}
	wasResumed := s.wasSuspended && s.Phase != jobs.Suspended
	if wasResumed && job.Annotations[v1alpha1.TimedOutAnnotation] != "" && !suspendsOnce(snapshot) {
		wanted[v1alpha1.TimedOutAnnotation] = nil
	}
	changed := false
	for key, value := range wanted {
		text, ok := value.(string)
		changed = changed || !ok || job.Annotations[key] != text
	}
	if !changed {
		return nil
	}
	target := &trainer.TrainJob{ObjectMeta: metav1.ObjectMeta{Namespace: job.Namespace, Name: job.Name}}
	// The patch contains the UID of the TrainJob, so that a later TrainJob with the same name does not get
	// the annotations.
	return c.patch(ctx, target, map[string]any{"metadata": map[string]any{"uid": job.UID, "annotations": wanted}})
}

// patch sends a request that changes the given fields of an object. If the object no longer exists, patch does nothing
// and returns no error.
func (c *Controller) patch(ctx context.Context, target client.Object, fields map[string]any) error {
	text, err := json.Marshal(fields)
	if err != nil {
		return fmt.Errorf("describing a change: %w", err)
	}
	err = c.Client.Patch(ctx, target, client.RawPatch(types.MergePatchType, text), client.FieldOwner(fieldOwner))
	if err := client.IgnoreNotFound(err); err != nil {
		return fmt.Errorf("changing %s: %w", target.GetName(), err)
	}
	return nil
}
