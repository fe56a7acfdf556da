package guard

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// Reader reads the TrainJobs of one minor version of Trainer.
type Reader struct {
	trainJob shape
	// replaces is the version, if it takes a TrainJob's resources for all that nodes get.
	replaces string
	// parts are where patches say what pods, and what is around them, are to be.
	parts func(spec tree) parts
}

// parts are what patches change.
type parts struct{ metadata, pods []tree }

// readers make all of them, by version.
var readers = map[string]func() Reader{"2.1": trainer21, "2.2": trainer22, "2.3": trainer23}

// ReaderFor returns the reader for a minor version of Trainer, such as 2.3.
func ReaderFor(version string) (Reader, error) {
	reader, ok := readers[version]
	if !ok {
		return Reader{}, fmt.Errorf("reading TrainJobs of Trainer %q: want one of %s", version, strings.Join(slices.Sorted(maps.Keys(readers)), ", "))
	}
	return reader(), nil
}

// Read reads a TrainJob as decoded JSON. Its errors are about what no API server takes, so that
// it would not even come to the rules; the job is what could be read all the same.
func (r Reader) Read(fields map[string]any) (Job, field.ErrorList) {
	var f misfits
	root := tree{value: fields}
	r.trainJob.read(root, &f)
	spec := root.get("spec")
	job := Job{Name: nameOf(root.get("metadata")), Runtime: runtimeOf(spec.get("runtimeRef")), Odd: f.odd}
	if job.Name == "" {
		f.wrong = append(f.wrong, field.Required(field.NewPath("metadata", "name"), "the API server wants a name: write one"))
	}
	if managedBy := spec.get("managedBy"); is[string](managedBy.value) {
		text := managedBy.text()
		job.ManagedBy = &text
	}
	job.trainer(spec.get("trainer"))
	if resources := spec.get("trainer", "resourcesPerNode"); resources.get("limits").given() || resources.get("requests").given() {
		job.Replaces = r.replaces
	}
	patches := r.parts(spec)
	job.mark(append([]tree{spec}, patches.metadata...))
	job.pods(patches.pods, spec)
	return job, f.wrong
}

// suffix is how long what the API server puts behind a generateName is, and longest how long a name gets by that.
const (
	suffix  = 5
	longest = 63
)

func nameOf(metadata tree) string {
	generated := metadata.get("generateName").text()
	if name := metadata.get("name").text(); name != "" || generated == "" {
		return name
	}
	return Generated(generated)
}

// Generated is a name such as the API server makes of a generateName.
func Generated(prefix string) string {
	return prefix[:min(len(prefix), longest-suffix)] + strings.Repeat("x", suffix)
}

func runtimeOf(ref tree) RuntimeRef {
	r := RuntimeRef{Group: "trainer.kubeflow.org", Kind: "ClusterTrainingRuntime", Name: ref.get("name").text()}
	if group := ref.get("apiGroup"); group.given() {
		r.Group = group.text()
	}
	if kind := ref.get("kind"); kind.given() {
		r.Kind = kind.text()
	}
	return r
}

func (j *Job) trainer(t tree) {
	j.Image = t.get("image").text()
	if n, ok := whole(t.get("numNodes").value); ok {
		j.Nodes = &n
	}
	if processes := t.get("numProcPerNode"); processes.given() {
		j.Processes = numberOrWord(processes.value)
	}
	j.Limits, j.Requests = amounts(t.get("resourcesPerNode", "limits")), amounts(t.get("resourcesPerNode", "requests"))
	j.Env = namedBy(each(t.get("env").items(), "name"))
}

// numberOrWord reads a value; what does not fit has been reported.
func numberOrWord(v any) *intstr.IntOrString {
	if n, ok := whole(v); ok && isCount(v) {
		number := intstr.FromInt32(int32(n)) //nolint:gosec // isCount has looked at its size
		return &number
	}
	word := intstr.FromString(fmt.Sprint(v))
	return &word
}

func amounts(t tree) map[string]resource.Quantity {
	found := map[string]resource.Quantity{}
	for _, name := range t.keys() {
		if q, ok := quantity(t.get(name).value); ok {
			found[name] = q
		}
	}
	return found
}

// mark collects labels and annotations.
func (j *Job) mark(metadata []tree) {
	j.Labels = keysOf(each(metadata, "labels"))
	j.Annotations = keysOf(each(metadata, "annotations"))
}

// pods collects what patches do to pods and, beside them, what initializers read.
func (j *Job) pods(pods []tree, spec tree) {
	j.NodeLabels = keysOf(each(pods, "nodeSelector"))
	volumes := itemsOf(each(pods, "volumes"))
	j.Volumes = namedBy(each(volumes, "name"))
	initializers := append(each([]tree{spec}, "initializer", "dataset"), each([]tree{spec}, "initializer", "model")...)
	patched := append(itemsOf(each(pods, "initContainers")), itemsOf(each(pods, "containers"))...)
	j.Mounts = namedBy(each(itemsOf(each(patched, "volumeMounts")), "name"))
	containers := slices.Concat(initializers, each([]tree{spec}, "trainer"), patched)
	j.Secrets = namedBy(slices.Concat(
		each(itemsOf(each(containers, "env")), "valueFrom", "secretKeyRef", "name"),
		each(initializers, "secretRef", "name"),
		each(volumes, "secret", "secretName"),
		each(itemsOf(each(volumes, "projected", "sources")), "secret", "name"),
	))
}
