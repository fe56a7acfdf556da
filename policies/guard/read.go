package guard

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/trainyard/trainyard/api/v1alpha1"
)

// Reader converts a TrainJob to a struct of the type Job. Each Reader supports one minor version of Trainer.
type Reader struct {
	trainJob fieldSchema
	// If a TrainJob sets limits or requests, the Reader copies the field "replaces" to Job.Replaces. Otherwise,
	// Job.Replaces stays empty.
	replaces string
	// limitsItems reports whether the version of Trainer limits the number of items in lists.
	limitsItems bool
	// findPatches finds the patches in the spec of a TrainJob.
	findPatches func(spec value) patches
}

// patches is a struct with three kinds of values from the patches of one TrainJob. The field "metadata" holds the
// patched metadata of pods, Jobs and the JobSet. The field "jobs" holds the patched ReplicatedJobs. The field "pods"
// holds the patched pod specs.
type patches struct{ metadata, jobs, pods []value }

// readerByMinor maps each supported minor version of Trainer to a function that returns the Reader.
var readerByMinor = map[string]func() Reader{"2.1": trainer21, "2.2": trainer22, "2.3": trainer23}

// ReaderFor returns the reader for a minor version of Trainer, such as 2.3.
func ReaderFor(version string) (Reader, error) {
	reader, ok := readerByMinor[version]
	if !ok {
		return Reader{}, fmt.Errorf("unsupported Trainer version %q: want one of %s", version, strings.Join(slices.Sorted(maps.Keys(readerByMinor)), ", "))
	}
	return reader(), nil
}

// Read converts the decoded JSON of a TrainJob to a Job. Each error describes a value that the API server refuses before
// it evaluates any rule, such as a value of a wrong type. If there are errors, the Job still holds all values that Read
// can convert.
func (r Reader) Read(trainJob map[string]any) (Job, field.ErrorList) {
	f := findings{limitsItems: r.limitsItems}
	root := value{content: trainJob}
	r.trainJob.check(root, &f)
	spec := root.get("spec")
	job := Job{Name: nameOf(root.get("metadata")), Runtime: runtimeOf(spec.get("runtimeRef")), Disallowed: f.disallowed}
	job.Size, job.Overrides = computeSize(sizedParts(trainJob)), len(spec.get(overridesKey).listItems())
	if job.Name == "" {
		f.typeErrors = append(f.typeErrors, field.Required(field.NewPath("metadata", "name"), "the API server requires a name: write one"))
	}
	if managedBy := spec.get("managedBy"); is[string](managedBy.content) {
		text := managedBy.stringValue()
		job.ManagedBy = &text
	}
	job.readMetadata(root.get("metadata"))
	job.readTrainer(spec.get("trainer"))
	for _, name := range []string{"dataset", "model"} {
		if initializer := spec.get("initializer", name); initializer.isSet() {
			job.Initializers = append(job.Initializers, Named{name, initializer.path})
		}
	}
	if resources := spec.get("trainer", "resourcesPerNode"); resources.get("limits").isSet() || resources.get("requests").isSet() {
		job.Replaces = r.replaces
	}
	patches := r.findPatches(spec)
	metadata := append([]value{spec}, patches.metadata...)
	job.Labels, job.Annotations = listKeys(lookUpEach(metadata, "labels")), listKeys(lookUpEach(metadata, "annotations"))
	job.addTargets("job", patches.jobs)
	job.readPods(patches.pods, spec)
	return job, f.typeErrors
}

// If an object sets generateName instead of a name, the API server appends suffixLength random
// characters to generateName. The generated name has at most maxNameLength characters. Source:
// k8s.io/apiserver/pkg/storage/names/generate.go.
const (
	suffixLength  = 5
	maxNameLength = 63
)

func nameOf(metadata value) string {
	generated := metadata.get("generateName").stringValue()
	if name := metadata.get("name").stringValue(); name != "" || generated == "" {
		return name
	}
	return GeneratedName(generated)
}

// GeneratedName returns a possible name of an object whose generateName is the given prefix. The API server generates
// a name of the same length, with a random suffix.
func GeneratedName(prefix string) string {
	return prefix[:min(len(prefix), maxNameLength-suffixLength)] + strings.Repeat("x", suffixLength)
}

func runtimeOf(ref value) RuntimeRef {
	r := RuntimeRef{Group: v1alpha1.TrainerGroup, Kind: "ClusterTrainingRuntime", Name: ref.get("name").stringValue()}
	if group := ref.get("apiGroup"); group.isSet() {
		r.Group = group.stringValue()
	}
	if kind := ref.get("kind"); kind.isSet() {
		r.Kind = kind.stringValue()
	}
	return r
}

func (j *Job) readTrainer(trainer value) {
	j.Image = trainer.get("image").stringValue()
	if n, ok := wholeNumber(trainer.get("numNodes").content); ok {
		j.Nodes = &n
	}
	if processes := trainer.get("numProcPerNode"); processes.isSet() {
		j.Processes = numberOrWord(processes.content)
	}
	resources := trainer.get("resourcesPerNode")
	j.Limits, j.Requests = j.readAmounts(resources.get("limits")), j.readAmounts(resources.get("requests"))
	variables := trainer.get("env").listItems()
	j.Env = namedStrings(lookUpEach(variables, "name"))
	for _, variable := range variables {
		if path := variable.get("value").stringValue(); variable.get("name").content == "PATH" {
			j.SearchPath = &path
		}
	}
	for _, word := range itemsOf([]value{trainer.get("command"), trainer.get("args")}) {
		j.Command = append(j.Command, word.stringValue())
	}
}

// readMetadata reads the labels and annotations of Kueue, and the metadata that only controllers and admins may set.
func (j *Job) readMetadata(metadata value) {
	j.Queue, j.PriorityClass = metadata.get("labels", queueLabel).stringValue(), metadata.get("labels", priorityClassLabel).stringValue()
	for _, key := range listKeys([]value{metadata.get("labels"), metadata.get("annotations")}) {
		if isKueueSetting(key.Name) {
			j.KueueSettings = append(j.KueueSettings, key)
		}
	}
	for _, finalizer := range metadata.get("finalizers").listItems() {
		j.Reserved = append(j.Reserved, Named{finalizer.stringValue(), finalizer.path})
	}
	for _, owner := range metadata.get("ownerReferences").listItems() {
		if controller := owner.get("controller"); controller.content == true {
			j.Reserved = append(j.Reserved, Named{fmt.Sprint(owner.content), controller.path})
		}
	}
}

// numberOrWord converts a value to an intstr.IntOrString. An integer that fits into 32 bits becomes a number, with the
// type intstr.Int. Every other value becomes a word, with the type intstr.String. numberOrWord returns no error for a
// value of a wrong type, because the check against the schema has already reported the value.
func numberOrWord(v any) *intstr.IntOrString {
	if n, ok := wholeNumber(v); ok && isInt32(v) {
		number := intstr.FromInt32(int32(n)) //nolint:gosec // isInt32 has checked the range
		return &number
	}
	word := intstr.FromString(fmt.Sprint(v))
	return &word
}

// readAmounts reads a mapping from resource names to amounts. If readAmounts cannot parse an amount, it sets
// UnknownAmounts.
func (j *Job) readAmounts(v value) map[string]resource.Quantity {
	found := map[string]resource.Quantity{}
	for _, name := range v.sortedKeys() {
		amount, known := parseQuantity(v.get(name).content)
		found[name], j.UnknownAmounts = amount, j.UnknownAmounts || !known
	}
	return found
}

func (j *Job) addTargets(kind string, targets []value) {
	for _, name := range namedStrings(lookUpEach(targets, "name")) {
		j.PatchTargets = append(j.PatchTargets, PatchTarget{name, kind})
	}
}

// readPods reads the patched pod specs. readPods also collects the names of Secrets to which the
// trainer and the initializers refer.
func (j *Job) readPods(pods []value, spec value) {
	j.NodeLabels = listKeys(lookUpEach(pods, "nodeSelector"))
	volumes := itemsOf(lookUpEach(pods, "volumes"))
	j.Volumes = namedStrings(lookUpEach(volumes, "name"))
	containers, initContainers := itemsOf(lookUpEach(pods, "containers")), itemsOf(lookUpEach(pods, "initContainers"))
	j.addTargets("container", containers)
	j.addTargets("initContainer", initContainers)
	for _, c := range containers {
		if c.get("env").isSet() {
			j.PatchTargets = append(j.PatchTargets, PatchTarget{Named{c.get("name").stringValue(), c.get("env").path}, "env of container"})
		}
	}
	initializers := append(lookUpEach([]value{spec}, "initializer", "dataset"), lookUpEach([]value{spec}, "initializer", "model")...)
	patched := slices.Concat(initContainers, containers)
	j.Mounts = namedStrings(lookUpEach(itemsOf(lookUpEach(patched, "volumeMounts")), "name"))
	variables := itemsOf(lookUpEach(slices.Concat(initializers, lookUpEach([]value{spec}, "trainer"), patched), "env"))
	j.Secrets = namedStrings(slices.Concat(
		lookUpEach(variables, "valueFrom", "secretKeyRef", "name"),
		lookUpEach(initializers, "secretRef", "name"),
		lookUpEach(volumes, "secret", "secretName"),
		lookUpEach(itemsOf(lookUpEach(volumes, "projected", "sources")), "secret", "name"),
	))
}
