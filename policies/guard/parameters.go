package guard

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/trainyard/trainyard/api/v1alpha1"
)

// Parameters holds the settings of a tenant that the rules need: limits, and lists of allowed values.
type Parameters struct {
	// Runtimes holds the runtimes that the tenant lists. Each key is the name of a runtime.
	Runtimes map[string]Runtime
	// Own holds the limits for TrainingRuntimes that the tenant creates. Own is nil if the tenant may not create
	// TrainingRuntimes.
	Own *Runtime
	// Exempt lists the users who can submit any TrainJob.
	Exempt []string
	// Labels and Annotations list the keys that a TrainJob may set on its JobSet, Jobs and pods. NodeLabels lists the
	// keys that node selectors may use.
	Labels, Annotations, NodeLabels []string
	// Managers lists the allowed values of managedBy.
	Managers []string
	// Queues lists the LocalQueues of the tenant. If Queues is empty, TrainJobs may name any queue or none.
	// PriorityClasses lists the WorkloadPriorityClasses that the tenant's TrainJobs may name.
	Queues, PriorityClasses []string
	// NamespaceLabel is the label that Kueue requires on the tenant's namespace, as KEY=VALUE. If
	// Kueue requires no label, NamespaceLabel is empty.
	NamespaceLabel string
	// Encryption is the encryption of the pod network: ipsec, wireguard or none.
	Encryption string
}

// Runtime holds the properties of a runtime that the rules use.
type Runtime struct {
	Kind, Image string // Kind and Image are empty for a runtime that the tenant created
	// MaxNodes, MaxProcPerNode and MaxGPUsPerNode limit the values that a TrainJob may request.
	MaxNodes, MaxProcPerNode, MaxGPUsPerNode int64
	// NumProcPerNode is the runtime's number of processes per node. GPUs maps resource names to the runtime's number of
	// GPUs per node.
	NumProcPerNode int64
	GPUs           map[string]int64
	// Resources maps "cpu" and "memory" to the amounts that the runtime gives to each node.
	Resources map[string]string
	// Initializers lists the initializers of the runtime. For a runtime that the tenant created, the initializers
	// are unknown, and the list is empty.
	Initializers []string
	// MaxName is the maximum length of a TrainJob's name, in characters.
	MaxName int64
	// Hostfile states which mpirun the runtime selects, if the runtime uses MPICH or Intel MPI. The mpirun of MPICH or
	// Intel MPI cannot read Trainer's hostfile. If the runtime selects trainyard's own mpirun, which uses another
	// hostfile, the value is HostfileConverted. If the runtime selects the mpirun of the image, the value is
	// HostfileUnreadable. Hostfile is empty for runtimes with other MPI implementations, and for runtimes that the
	// tenant created.
	Hostfile string
}

// Values of Runtime.Hostfile for runtimes with MPICH or Intel MPI.
const (
	HostfileConverted  = "converted"  // PATH of the runtime selects trainyard's own mpirun, which uses another hostfile
	HostfileUnreadable = "unreadable" // PATH of the runtime selects the image's mpirun, which cannot read the hostfile
)

// basicResources are the resources that every node needs.
var basicResources = []string{"cpu", "memory"}

// ownRuntime is the prefix of the parameter keys for TrainingRuntimes that the tenant creates. For all other
// runtimes, the prefix of the parameter keys is the name of the runtime.
const ownRuntime = "_own"

// ReadParameters reads the data of a tenant's parameter ConfigMap, which has one key for each value.
func ReadParameters(data map[string]string) (Parameters, error) {
	r := &parameterReader{data: data}
	p := Parameters{
		Runtimes: map[string]Runtime{},
		Exempt:   r.list("exempt"), Labels: r.list("labels"), Annotations: r.list("annotations"), NodeLabels: r.list("nodeLabels"),
		Managers: r.list("managers"), Encryption: r.text("encryption"),
		Queues: r.list("queues"), PriorityClasses: r.list("priorityClasses"), NamespaceLabel: r.text("namespaceLabel"),
	}
	for _, key := range slices.Sorted(maps.Keys(data)) {
		if name, ok := strings.CutSuffix(key, ".kind"); ok {
			runtime := r.runtime(name)
			runtime.Kind, runtime.Image = r.text(key), r.text(name+".image")
			runtime.Initializers, runtime.Hostfile = r.list(name+".initializers"), data[name+".hostfile"]
			p.Runtimes[name] = runtime
		}
	}
	switch granted := r.text("ownRuntimes"); granted {
	case "true":
		runtime := r.runtime(ownRuntime)
		p.Own = &runtime
	case "false":
	default:
		r.fail("ownRuntimes", fmt.Errorf("want true or false, got %q", granted))
	}
	return p, r.err
}

// parameterReader reads values, and records the first error.
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

func (r *parameterReader) list(key string) []string { return strings.Fields(r.text(key)) }

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
	for _, resource := range basicResources {
		if amount, given := r.data[at("resources."+resource)]; given {
			runtime.Resources[resource] = amount
		}
	}
	for _, word := range r.list(at("gpus")) {
		resource, count, _ := strings.Cut(word, "=")
		n, err := strconv.ParseInt(count, 10, 64)
		if err != nil {
			r.fail(at("gpus"), fmt.Errorf("want RESOURCE=NUMBER, got %q", word))
		}
		runtime.GPUs[resource] = n
	}
	return runtime
}

// NoParametersError reports that no rules apply to a namespace, because the platform has no ConfigMap with parameters
// for this namespace.
type NoParametersError struct{ Tenant string }

// Error returns a message that names the namespace.
func (e *NoParametersError) Error() string {
	return fmt.Sprintf("namespace %s has no rules for TrainJobs", e.Tenant)
}

// FindParameters finds a tenant's parameters among the objects of a platform. FindParameters also returns the Reader
// for the platform's version of Trainer. The error is a *NoParametersError if the tenant has no parameters.
func FindParameters(objects []map[string]any, tenant string) (Parameters, Reader, error) {
	for _, object := range objects {
		v := value{content: object}
		if v.get("kind").stringValue() != "ConfigMap" || v.get("metadata", "namespace").stringValue() != v1alpha1.SystemNamespace ||
			v.get("metadata", "name").stringValue() != v1alpha1.TenantObjectName(tenant) {
			continue
		}
		data := map[string]string{}
		for _, key := range v.get("data").sortedKeys() {
			data[key] = v.get("data", key).stringValue()
		}
		parameters, err := ReadParameters(data)
		if err != nil {
			return parameters, Reader{}, err
		}
		reader, err := ReaderFor(data["trainer"])
		return parameters, reader, err
	}
	return Parameters{}, Reader{}, &NoParametersError{tenant}
}

// runtimeLimits returns the limits of a runtime. The second result is false if the tenant may not use this runtime.
func (p Parameters) runtimeLimits(ref RuntimeRef) (Runtime, bool) {
	if ref.Group != v1alpha1.TrainerGroup {
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
