package guard

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// Parameters are what a tenant's TrainJobs may ask for.
type Parameters struct {
	// Runtimes are those that the tenant lists, by name.
	Runtimes map[string]Runtime
	// Own is what holds for TrainingRuntimes that the platform document does not know; nil where they are not granted.
	Own *Runtime
	// Exempt are the users whose writes are not judged.
	Exempt []string
	// Labels and Annotations, and labels of nodes, are the keys that TrainJobs may set, and choose by.
	Labels, Annotations, NodeLabels []string
	// Managers are what managedBy may say.
	Managers []string
	// Encryption is what encrypts the network, or none.
	Encryption string
}

// Runtime is what the rules need to know of a runtime.
type Runtime struct {
	Kind, Image string // empty for one that the platform document does not know
	// The most that a TrainJob may ask for.
	MaxNodes, MaxProcPerNode, MaxGPUsPerNode int64
	// NumProcPerNode and GPUs are the runtime's own, the latter by resource.
	NumProcPerNode int64
	GPUs           map[string]int64
	// Resources are the amounts of CPU and memory that the runtime gives to nodes, by name.
	Resources map[string]string
	// MaxName is how long a TrainJob's name may be.
	MaxName int64
}

// computed are the resources that each node computes with.
var computed = []string{"cpu", "memory"}

// own stands in keys for runtimes that the platform document does not know.
const own = "_own"

// ReadParameters reads the data of a tenant's ConfigMap, in which each value has a key of its own.
func ReadParameters(data map[string]string) (Parameters, error) {
	r := &parameterReader{data: data}
	p := Parameters{
		Runtimes: map[string]Runtime{},
		Exempt:   r.words("exempt"), Labels: r.words("labels"), Annotations: r.words("annotations"), NodeLabels: r.words("nodeLabels"),
		Managers: r.words("managers"), Encryption: r.text("encryption"),
	}
	for _, key := range slices.Sorted(maps.Keys(data)) {
		if name, ok := strings.CutSuffix(key, ".kind"); ok {
			runtime := r.runtime(name)
			runtime.Kind, runtime.Image = r.text(key), r.text(name+".image")
			p.Runtimes[name] = runtime
		}
	}
	switch granted := r.text("ownRuntimes"); granted {
	case "true":
		runtime := r.runtime(own)
		p.Own = &runtime
	case "false":
	default:
		r.fail("ownRuntimes", fmt.Errorf("want true or false, got %q", granted))
	}
	return p, r.err
}

// parameterReader remembers the first key that cannot be read.
type parameterReader struct {
	data map[string]string
	err  error
}

func (r *parameterReader) fail(key string, err error) {
	if r.err == nil {
		r.err = fmt.Errorf("reading the parameter %s: %w", key, err)
	}
}

func (r *parameterReader) text(key string) string {
	text, ok := r.data[key]
	if !ok {
		r.fail(key, fmt.Errorf("it is missing"))
	}
	return text
}

func (r *parameterReader) words(key string) []string { return strings.Fields(r.text(key)) }

func (r *parameterReader) number(key string) int64 {
	text := r.text(key)
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		r.fail(key, fmt.Errorf("want a whole number, got %q", text))
	}
	return n
}

func (r *parameterReader) runtime(name string) Runtime {
	at := func(what string) string { return name + "." + what }
	runtime := Runtime{
		MaxNodes: r.number(at("maxNodes")), MaxProcPerNode: r.number(at("maxProcPerNode")), MaxGPUsPerNode: r.number(at("maxGPUsPerNode")),
		NumProcPerNode: r.number(at("numProcPerNode")), MaxName: r.number(at("maxName")),
		GPUs: map[string]int64{}, Resources: map[string]string{},
	}
	for _, resource := range computed {
		if amount, given := r.data[at("resources."+resource)]; given {
			runtime.Resources[resource] = amount
		}
	}
	for _, word := range r.words(at("gpus")) {
		resource, count, _ := strings.Cut(word, "=")
		n, err := strconv.ParseInt(count, 10, 64)
		if err != nil {
			r.fail(at("gpus"), fmt.Errorf("want RESOURCE=NUMBER, got %q", word))
		}
		runtime.GPUs[resource] = n
	}
	return runtime
}

// runtime is what holds for a runtime, and whether the tenant may use it.
func (p Parameters) runtime(ref RuntimeRef) (Runtime, bool) {
	if ref.Group != "trainer.kubeflow.org" {
		return Runtime{}, false
	}
	if listed, ok := p.Runtimes[ref.Name]; ok && listed.Kind == ref.Kind {
		return listed, true
	}
	if p.Own != nil && ref.Kind == "TrainingRuntime" && ref.Name != "" {
		return *p.Own, true
	}
	return Runtime{}, false
}
