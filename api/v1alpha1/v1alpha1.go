// Package v1alpha1 declares the names that trainyard writes into objects and later reads from them. These names are
// trainyard's API version, the keys of its labels and annotations, and the names of the ConfigMaps that hold the parameters
// of the admission policy. The CUE definitions repeat the strings of this package, and test/layout checks that the strings
// are equal in both places.
//
// The package also declares the Go types of TrainJobSource. controller-gen generates the DeepCopy methods of these
// types, and the CRD in api/crds.
//
// +groupName=trainyard.dev
// +kubebuilder:object:generate=true
package v1alpha1

// The API of trainyard's own documents.
const (
	Group      = "trainyard.dev"
	APIVersion = Group + "/v1alpha1"
)

// Labels of generated objects.
const (
	// ManagedByLabel is Kubernetes' common label for the tool that manages an object. Its value is ManagedBy.
	ManagedByLabel = "app.kubernetes.io/managed-by"
	// ManagedBy is the value of ManagedByLabel on every generated object.
	ManagedBy = "trainyard"
	// PlatformLabel holds the metadata.name of the platform document.
	PlatformLabel = Group + "/platform"
	// TenantLabel holds the namespace of the tenant to which an object belongs.
	TenantLabel = Group + "/tenant"
	// RuntimeLabel is a label on a runtime and on the pods that use it. The value is the name of the runtime.
	RuntimeLabel = Group + "/runtime"
	// RoleLabel holds a pod's role in its TrainJob: launcher or node.
	RoleLabel = Group + "/role"
	// MPILabel holds the MPI implementation of a runtime.
	MPILabel = Group + "/mpi"
	// KeepLabel is "true" on objects that several platforms share. When a platform is removed, its shared objects stay.
	KeepLabel = Group + "/keep"
	// IsolationLabel is a label on NetworkPolicies. The value of the label is "job" on a NetworkPolicy that isolates
	// the TrainJobs of a namespace from each other. The value is "one-job" on a NetworkPolicy that trainyard-controller
	// adds for one isolated TrainJob.
	IsolationLabel = Group + "/isolation"
	// AccessLabel is "true" on RoleBindings and ClusterRoleBindings. Users can select these objects by the label, and
	// can thus apply them last and delete them first.
	AccessLabel = Group + "/access"
)

// Annotations of generated objects.
const (
	// LimitsAnnotation holds a runtime's limits for TrainJobs, as JSON.
	LimitsAnnotation = Group + "/limits"
	// NotesAnnotation holds explanations for people who review a runtime. An explanation says why a field is correct
	// although it looks like a mistake.
	NotesAnnotation = Group + "/notes"
	// GangAnnotation holds a runtime's settings for gang scheduling, as JSON.
	GangAnnotation = Group + "/gang"
	// NetworkAnnotation holds a runtime's network settings, as JSON.
	NetworkAnnotation = Group + "/network"
	// TTLAnnotation on a runtime holds a number of seconds. trainyard-controller deletes a TrainJob of this runtime
	// when this time has passed since the end of the TrainJob.
	TTLAnnotation = Group + "/ttl-seconds-after-finished"
	// PhaseAnnotation and MessageAnnotation are annotations that trainyard-controller writes on TrainJobs. PhaseAnnotation
	// holds the phase, such as Running, and MessageAnnotation describes the phase or the failure.
	PhaseAnnotation   = Group + "/phase"
	MessageAnnotation = Group + "/message"
	// ObservedAnnotation holds the UID of the TrainJob to which PhaseAnnotation and MessageAnnotation belong. If a user
	// copies a TrainJob with its annotations, the copy has another UID, and trainyard-controller ignores the copied
	// annotations. The UID has the suffix "/started" after trainyard-controller has reported the start of the training,
	// and the suffix "/ended" after it has reported the end of the TrainJob.
	ObservedAnnotation = Group + "/observed"
	// TimedOutAnnotation on a TrainJob means that trainyard-controller suspended the TrainJob, because its pods were not
	// scheduled in time.
	TimedOutAnnotation = Group + "/timed-out"
	// LeftOutAnnotation lists the panels and features that a generated Grafana dashboard leaves out, with the reasons.
	LeftOutAnnotation = Group + "/left-out"
	// EnvironmentKey is the key of an annotation in a KRM function's configuration, and also the key of a label on
	// OLM payloads. The annotation and the label hold the name of an environment in the platform document.
	EnvironmentKey = Group + "/environment"
	// FunctionAnnotation is an annotation in the configuration of trainyard-fn. It holds the name of the function to
	// run, such as "validate".
	FunctionAnnotation = Group + "/function"
)

// Keys of labels and annotations on the ConfigMaps of an OLM bundle. The objects in these ConfigMaps are compressed as
// one stream. The stream is divided into parts, and each ConfigMap contains one part.
const (
	// PayloadLabel holds a number that says which part of the compressed stream the ConfigMap contains. The first part
	// has the number 1.
	PayloadLabel = Group + "/payload"
	// PayloadPartsAnnotation holds the number of parts into which the compressed stream is divided.
	PayloadPartsAnnotation = Group + "/payload-parts"
	// PayloadDigestAnnotation holds the digest of the whole compressed stream: of all parts together, in the order of
	// their numbers.
	PayloadDigestAnnotation = Group + "/payload-digest"
	// PayloadObjectsAnnotation holds the number of objects in the compressed stream.
	PayloadObjectsAnnotation = Group + "/payload-objects"
)

// RuntimeTest is the key of a label on the TrainJobs that "trainyard runtime test" creates. If such a
// TrainJob contains a runtime patch, RuntimeTest is also the value of the field "manager" in this patch.
const RuntimeTest = Group + "/runtime-test"

// Names that Kubeflow Trainer and its SDK define.
// Source: pkg/constants and pkg/apis/trainer/v1alpha1 of github.com/kubeflow/trainer.
const (
	TrainerGroup      = "trainer.kubeflow.org"
	TrainerAPIVersion = TrainerGroup + "/v1alpha1"
	// FrameworkLabel holds a runtime's framework. The Kubeflow SDK ignores runtimes without this label.
	FrameworkLabel = TrainerGroup + "/framework"
	// AncestorStepLabel marks the pod template that receives the settings in the field spec.trainer of a TrainJob.
	AncestorStepLabel = TrainerGroup + "/trainjob-ancestor-step"
	// TrainJobController is the default value of spec.managedBy, which selects Trainer's own controller.
	TrainJobController = TrainerGroup + "/trainjob-controller"
)

// SystemNamespace is the default namespace of objects that belong to no tenant. SystemNamespace also contains the
// ConfigMaps with the admission parameters of all tenants.
const SystemNamespace = "trainyard-system"

// TenantObjectName returns the name that all cluster-wide objects of a tenant have, except its Namespace. The ConfigMap
// with the tenant's admission parameters, which is in SystemNamespace, also has this name.
func TenantObjectName(tenant string) string { return "trainyard-" + tenant }
