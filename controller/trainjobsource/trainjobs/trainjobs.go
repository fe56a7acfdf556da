// Package trainjobs builds TrainJobs from jobs in Git. It also converts jobs in Git and TrainJobs in the cluster to the
// types of the package plan.
//
// The labels and annotations of a TrainJob name its TrainJobSource, its job and its version. The controller recognizes
// its TrainJobs by these labels and annotations, and not by the record (plan.Record). For example, the controller can
// crash after it has created a TrainJob, but before the record says that this TrainJob was created. After the restart,
// the controller still recognizes the TrainJob by its labels and annotations.
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
	// VersionAnnotation holds a JSON object: the name of the TrainJob, and the plan.Version that this TrainJob runs.
	VersionAnnotation = v1alpha1.Group + "/version"
	// MetadataAnnotation holds the digest of the labels and annotations in Git. The digest does not cover
	// RetryAnnotation.
	MetadataAnnotation = v1alpha1.Group + "/metadata"
	// RetryAnnotation holds any text. Users change the text in Git to run a job again although its spec has not
	// changed.
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

// maxText is the maximum length of a text that ShortText leaves unchanged. The length is the number of bytes of the
// text as a JSON string, including the quotes.
const maxText = 64

// ShortText returns the digest of a text if the text is longer than maxText. Otherwise, ShortText returns the text
// itself. The texts come from users, and are stored in a plan.Record, which must fit into a ConfigMap.
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

// withDefaults returns the spec of a TrainJob in Git, and fills in the API server's default values. A job therefore
// gets no new version when somebody writes a default value explicitly in Git. The result does not contain the field
// "suspend", because the value of this field can change while a TrainJob exists. Kueue sets the field to true so that a
// TrainJob waits for quota. Users set the field to true so that a TrainJob stops. The defaults are those of
// pkg/apis/trainer/v1alpha1/trainjob_types.go in Trainer 2.1 to 2.3.
func withDefaults(inGit *unstructured.Unstructured) map[string]any {
	spec := copySpec(inGit)
	delete(spec, "suspend")
	setDefault(spec, "managedBy", v1alpha1.TrainJobController)
	if runtime, ok := spec["runtimeRef"].(map[string]any); ok {
		setDefault(runtime, "apiGroup", v1alpha1.TrainerGroup)
		setDefault(runtime, "kind", trainer.ClusterTrainingRuntimeKind)
	}
	return spec
}

// copySpec returns a copy of the spec of a TrainJob in Git. For a missing spec, the copy is empty, and the API server
// says which fields are missing.
func copySpec(inGit *unstructured.Unstructured) map[string]any {
	spec, _, _ := unstructured.NestedMap(inGit.Object, "spec") // package decode has checked the type
	if spec == nil {
		return map[string]any{}
	}
	return spec
}

func setDefault(fields map[string]any, key, value string) {
	if fields[key] == nil {
		fields[key] = value
	}
}

// digestLength is the length of a digest in characters. 26 characters of base32 are 130 bits. With so many bits, it is
// practically impossible that two different specs have the same digest by chance. Even an author who searches for two
// specs with the same digest cannot find such specs.
const digestLength = 26

var encoding = base32.NewEncoding("abcdefghijklmnopqrstuvwxyz234567").WithPadding(base32.NoPadding)

// digest returns a hash of a value. The order of keys does not affect the hash, because the JSON encoder sorts keys.
func digest(value any) (string, error) {
	text, err := json.Marshal(value)
	if err != nil {
		return "", err
	}
	hash := sha256.Sum256(text)
	return encoding.EncodeToString(hash[:])[:digestLength], nil
}

// Object returns the TrainJob of a run. If the argument "live" is nil, the result is the object for a create request.
// Otherwise, the argument "live" is the run's TrainJob as read from the cluster. In this case, the result is the object
// for a server-side apply to this TrainJob.
//
// The object always has the whole spec. If the object lacked a field that the same field manager applied earlier, a
// server-side apply would remove this field from the TrainJob. For a server-side apply, Object copies spec.suspend and
// spec.managedBy from the TrainJob in the cluster. Kueue and users change spec.suspend, and the apply must not undo
// these changes. The API server sets defaults for both fields when it creates a TrainJob, and records the controller as
// the manager of these defaults. An apply without the two fields would therefore remove the defaults.
func Object(source string, inGit *unstructured.Unstructured, job plan.Job, run plan.Run, live *trainer.TrainJob) (*unstructured.Unstructured, error) {
	version, err := json.Marshal(plan.Run{Name: run.Name, Version: run.Version})
	if err != nil {
		return nil, fmt.Errorf("TrainJob %s: %w", inGit.GetName(), err)
	}
	spec := copySpec(inGit)
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

// copyLive sets a field of the argument "spec" to the argument "value". The argument "value" is the value of the same
// field in the TrainJob in the cluster. If the argument "value" is nil, copyLive removes the field from the argument
// "spec".
func copyLive[T any](spec map[string]any, field string, value *T) {
	if value == nil {
		delete(spec, field)
		return
	}
	spec[field] = *value
}

// maxGeneration limits the generations that Read accepts: each accepted generation is below maxGeneration. The limit is
// far above the number of runs of any job.
const maxGeneration = 1 << 50

// Read converts a TrainJob in the cluster to a plan.TrainJob. The field Job of the result is empty if the TrainJob does
// not belong to the given TrainJobSource. A TrainJob belongs to the TrainJobSource only if the SourceLabel names the
// TrainJobSource and the VersionAnnotation is valid. If a user copies a TrainJob with its annotations, the
// VersionAnnotation of the copy still contains the name of the original TrainJob. A VersionAnnotation that contains the
// name of another TrainJob is therefore invalid. The annotation is also invalid if its generation is maxGeneration or
// more. The controller never writes such a generation, so a user must have written it. If Read accepted this
// generation, the number of the next generation could overflow.
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
