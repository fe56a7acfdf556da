// Package v1alpha1 declares the names that trainyard writes into objects and reads back: its API version,
// its label and annotation keys, and where each tenant's admission parameters are. The CUE definitions repeat these
// strings, and test/layout checks that both agree.
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
	// TenantLabel holds the namespace of the tenant that an object belongs to.
	TenantLabel = Group + "/tenant"
	// RuntimeLabel holds the name of the runtime, on the runtime and on its pods.
	RuntimeLabel = Group + "/runtime"
	// RoleLabel holds a pod's role in its job: launcher or node.
	RoleLabel = Group + "/role"
	// MPILabel holds the MPI implementation of a runtime.
	MPILabel = Group + "/mpi"
	// KeepLabel is "true" on objects that several platforms share. They stay when one platform is removed.
	KeepLabel = Group + "/keep"
)

// Annotations of generated objects.
const (
	// LimitsAnnotation holds a runtime's limits for TrainJobs, as JSON.
	LimitsAnnotation = Group + "/limits"
	// GangAnnotation holds the scheduler that starts all pods of a job together.
	GangAnnotation = Group + "/gang"
	// NetworkAnnotation holds a runtime's network settings, as JSON.
	NetworkAnnotation = Group + "/network"
	// LeftOutAnnotation names the panels that a Grafana dashboard lacks, and the reason.
	LeftOutAnnotation = Group + "/left-out"
	// EnvironmentKey names an environment of the platform document: as an annotation of a KRM function's
	// configuration, and as a label of OLM payloads.
	EnvironmentKey = Group + "/environment"
	// FunctionAnnotation selects what the KRM function does, such as validate.
	FunctionAnnotation = Group + "/function"
)

// Keys on the ConfigMaps of an OLM bundle, which hold the objects as a compressed stream in several pieces.
const (
	// PayloadLabel holds the number of the piece, counted from 1.
	PayloadLabel = Group + "/payload"
	// PayloadPartsAnnotation holds the number of pieces.
	PayloadPartsAnnotation = Group + "/payload-parts"
	// PayloadDigestAnnotation holds the digest of the stream.
	PayloadDigestAnnotation = Group + "/payload-digest"
	// PayloadObjectsAnnotation holds the number of objects in the stream.
	PayloadObjectsAnnotation = Group + "/payload-objects"
)

// RuntimeTest labels the TrainJobs of "trainyard runtime test". It is also their field manager.
const RuntimeTest = Group + "/runtime-test"

// Names that Kubeflow Trainer and its SDK define.
// Source: pkg/constants and pkg/apis/trainer/v1alpha1 of github.com/kubeflow/trainer.
const (
	TrainerGroup      = "trainer.kubeflow.org"
	TrainerAPIVersion = TrainerGroup + "/v1alpha1"
	// FrameworkLabel holds a runtime's framework. The Kubeflow SDK ignores runtimes without it.
	FrameworkLabel = TrainerGroup + "/framework"
	// AncestorStepLabel tells Trainer which pod template receives the settings of a TrainJob's trainer.
	AncestorStepLabel = TrainerGroup + "/trainjob-ancestor-step"
	// TrainJobController is the default of spec.managedBy: Trainer's own controller.
	TrainJobController = TrainerGroup + "/trainjob-controller"
)

// SystemNamespace holds the objects that belong to no tenant, and the parameter ConfigMaps of all tenants.
const SystemNamespace = "trainyard-system"

// TenantObjectName returns the name of a tenant's cluster-wide objects, and of its parameter ConfigMap in SystemNamespace.
func TenantObjectName(tenant string) string { return "trainyard-" + tenant }
