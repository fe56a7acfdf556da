// Package trainjobs converts jobs in Git to TrainJobs, and TrainJobs in the cluster to the input of a plan.
//
// Each TrainJob of a TrainJobSource carries its job and its version in labels and annotations. The controller
// recognizes its TrainJobs by their labels and annotations. If the controller crashed before it marked a TrainJob
// as created in the record, the controller still recognizes the TrainJob.
package trainjobs

import (
	"crypto/sha256"
	"encoding/base32"
	"encoding/json"
	"fmt"
	"maps"

	trainer "github.com/kubeflow/trainer/v2/pkg/apis/trainer/v1alpha1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/trainyard/trainyard/api/v1alpha1"
	"github.com/trainyard/trainyard/controller/trainjobsource/plan"
)

// Labels and annotations of TrainJobs.
const (
	// SourceLabel holds the name of the TrainJobSource.
	SourceLabel = v1alpha1.Group + "/source"
	// JobLabel holds metadata.name of the TrainJob in Git. If the name in Git is already in use in the
	// cluster, the TrainJob in the cluster gets a different name.
	JobLabel = v1alpha1.Group + "/job"
	// VersionAnnotation holds the plan.Version of the run and the name of its TrainJob, as JSON.
	VersionAnnotation = v1alpha1.Group + "/version"
	// MetadataAnnotation holds the digest of the labels and annotations in Git.
	MetadataAnnotation = v1alpha1.Group + "/metadata"
	// RetryAnnotation holds a text that users change in Git to run the same version again.
	RetryAnnotation = v1alpha1.Group + "/retry"
)

// Job converts a TrainJob in Git to a job of a plan.
func Job(inGit *unstructured.Unstructured) (plan.Job, error) {
	spec, err := digest(withDefaults(inGit))
	if err != nil {
		return plan.Job{}, fmt.Errorf("TrainJob %s: %w", inGit.GetName(), err)
	}
	annotations := maps.Clone(inGit.GetAnnotations())
	delete(annotations, RetryAnnotation) // it starts a new run, so it does not change the labels and annotations of a run
	metadata, err := digest([]any{orEmpty(inGit.GetLabels()), orEmpty(annotations)})
	if err != nil {
		return plan.Job{}, fmt.Errorf("TrainJob %s: %w", inGit.GetName(), err)
	}
	return plan.Job{Name: inGit.GetName(), Spec: spec, Metadata: metadata, Retry: ShortText(inGit.GetAnnotations()[RetryAnnotation])}, nil
}

// maxText is the length up to which ShortText leaves a text unchanged. The length is the number of bytes of the text as
// a JSON string.
const maxText = 64

// ShortText returns a short text unchanged, and the digest of a long text. A record contains texts of users, and must fit
// into a ConfigMap.
func ShortText(text string) string {
	if encoded, err := json.Marshal(text); err == nil && len(encoded) <= maxText {
		return text
	}
	short, _ := digest(text) // a string can always be encoded
	return short
}

// orEmpty returns an empty map for nil, because nil and an empty map differ in JSON.
func orEmpty(values map[string]string) map[string]string {
	if values == nil {
		return map[string]string{}
	}
	return values
}

// withDefaults returns the spec with the API server's default values, so that a job does not get a new version when somebody
// adds a default value in Git. The field suspend is left out, because Kueue and users change it to queue or stop a TrainJob.
// The defaults are those of pkg/apis/trainer/v1alpha1/trainjob_types.go in Trainer 2.1 to 2.3.
func withDefaults(inGit *unstructured.Unstructured) map[string]any {
	spec, _, _ := unstructured.NestedMap(inGit.Object, "spec") // a copy
	if spec == nil {
		spec = map[string]any{}
	}
	delete(spec, "suspend")
	setDefault(spec, "managedBy", v1alpha1.TrainJobController)
	if runtime, ok := spec["runtimeRef"].(map[string]any); ok {
		setDefault(runtime, "apiGroup", v1alpha1.TrainerGroup)
		setDefault(runtime, "kind", trainer.ClusterTrainingRuntimeKind)
	}
	return spec
}

func setDefault(fields map[string]any, key, value string) {
	if fields[key] == nil {
		fields[key] = value
	}
}

// digestLength is the length of a digest in characters. 26 characters of base32 are 130 bits. Two specs therefore
// do not have the same digest by chance, and an author cannot find two specs with the same digest.
const digestLength = 26

var encoding = base32.NewEncoding("abcdefghijklmnopqrstuvwxyz234567").WithPadding(base32.NoPadding)

// digest returns a hash of a value. The order of keys has no influence, because the JSON encoder sorts them.
func digest(value any) (string, error) {
	text, err := json.Marshal(value)
	if err != nil {
		return "", err
	}
	hash := sha256.Sum256(text)
	return encoding.EncodeToString(hash[:])[:digestLength], nil
}

// Object returns the TrainJob of a run. If the argument "live" is nil, the result is for a create request. If the
// argument "live" is not nil, the result is for a server-side apply to the TrainJob "live" in the cluster.
//
// The object always has the whole spec, because a server-side apply removes the fields that the same manager applied earlier
// but no longer applies. The fields suspend and managedBy repeat the values in the cluster. One reason to repeat the
// cluster's value of the field suspend is that Kueue and users change this field. Object also repeats the values because the
// API server sets defaults for the fields suspend and managedBy when a TrainJob is created. The defaults look as if the
// creator of the TrainJob had set them.
func Object(source string, inGit *unstructured.Unstructured, job plan.Job, run plan.Run, live *trainer.TrainJob) (*unstructured.Unstructured, error) {
	version, err := json.Marshal(plan.Run{Name: run.Name, Version: run.Version})
	if err != nil {
		return nil, fmt.Errorf("TrainJob %s: %w", inGit.GetName(), err)
	}
	spec, _, err := unstructured.NestedMap(inGit.Object, "spec")
	if err != nil {
		return nil, fmt.Errorf("TrainJob %s: %w", inGit.GetName(), err)
	}
	if live != nil {
		copyLive(spec, "suspend", live.Spec.Suspend)
		copyLive(spec, "managedBy", live.Spec.ManagedBy)
	}
	object := &unstructured.Unstructured{Object: map[string]any{"spec": spec}}
	object.SetAPIVersion(v1alpha1.TrainerAPIVersion)
	object.SetKind(trainer.TrainJobKind)
	object.SetNamespace(inGit.GetNamespace())
	object.SetName(run.Name)
	if live != nil {
		object.SetUID(live.UID) // the API server then refuses to create a TrainJob that was deleted just now
	}
	labels, annotations := orEmpty(inGit.GetLabels()), orEmpty(inGit.GetAnnotations())
	labels[SourceLabel], labels[JobLabel] = source, job.Name
	annotations[VersionAnnotation], annotations[MetadataAnnotation] = string(version), job.Metadata
	object.SetLabels(labels)
	object.SetAnnotations(annotations)
	return object, nil
}

// copyLive sets a field of a spec to the value of the TrainJob in the cluster, or removes the field if that TrainJob has no
// value.
func copyLive[T any](spec map[string]any, field string, value *T) {
	if value == nil {
		delete(spec, field)
		return
	}
	spec[field] = *value
}

// maxGeneration is far above the number of runs of any job.
const maxGeneration = 1 << 50

// Read converts a TrainJob in the cluster to a plan.TrainJob. A TrainJob does not belong to this TrainJobSource if it
// belongs to another TrainJobSource, or if its version cannot be read. If a user copied a run with all labels and
// annotations, the copy does not belong to this TrainJobSource. The version in the annotations of the copy contains
// the name of the original TrainJob. A TrainJob whose generation is maxGeneration or more does not belong to the
// TrainJobSource. If a generation is maxGeneration or more, a user has written the generation, and the next
// generation could overflow.
func Read(source string, t *trainer.TrainJob) plan.TrainJob {
	read := plan.TrainJob{Phase: plan.Active, Deleting: t.DeletionTimestamp != nil, Metadata: t.Annotations[MetadataAnnotation]}
	for condition, phase := range map[string]plan.Phase{trainer.TrainJobComplete: plan.Succeeded, trainer.TrainJobFailed: plan.Failed} {
		if c := meta.FindStatusCondition(t.Status.Conditions, condition); c != nil && c.Status == "True" {
			read.Phase, read.Ended = phase, c.LastTransitionTime.Unix()
		}
	}
	var run plan.Run
	err := json.Unmarshal([]byte(t.Annotations[VersionAnnotation]), &run)
	if t.Labels[SourceLabel] == source && err == nil && run.Name == t.Name && run.Generation > 0 && run.Generation < maxGeneration {
		read.Job, read.Version = t.Labels[JobLabel], run.Version
	}
	return read
}
