package controlplane_test

import (
	"maps"
	"os"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trainyard/trainyard/test/controlplane"
)

// version is a release of Trainer with which bundles are tested. The fields of this struct describe the differences
// between releases of Trainer.
type version struct {
	trainer     string // folder below tools/
	controllers bool   // whether tools/ builds Trainer's controllers; if not, tests use only the CRDs

	// torchFields lists the fields of spec.mlPolicy.torch in the CRD of runtimes. These fields differ between
	// versions of Trainer.
	torchFields []string
	// sshKeys is the volume for the SSH keys of a job. The name of the Secret is empty, because the
	// function expectVolumes sets the name for each job.
	sshKeys corev1.SecretVolumeSource
	// applyOverride applies a TrainJob's resourcesPerNode to a container's resources, as this release of Trainer does.
	applyOverride func(into, from *corev1.ResourceRequirements)
	// refusesReserved is true if this release of Trainer reserves some environment variables, and
	// refuses TrainJobs that set them.
	refusesReserved bool
	// The field "finalizer" contains the finalizer that Trainer 2.1 sets on a runtime while TrainJobs use the runtime.
	// To add the finalizer, Trainer 2.1 writes the whole runtime, which can change other fields (see expectInUse). For
	// Trainer 2.3, this field is empty, because Trainer 2.3 sets no finalizer. For Trainer 2.2, this field is also
	// empty, because the tests run no controllers of Trainer 2.2.
	finalizer string
}

// testedVersions lists the tested releases, the default first.
var testedVersions = []version{
	{
		trainer: "trainer-2.3", controllers: true,
		torchFields:     []string{"envInjection"},
		sshKeys:         keyVolume(0o400, ptr.To[int32](0o640), ptr.To[int32](0o644)),
		applyOverride:   mergeResources,
		refusesReserved: true,
	},
	{
		trainer: "trainer-2.2",
	},
	{
		trainer: "trainer-2.1", controllers: true,
		torchFields:   []string{"elasticPolicy", "numProcPerNode"},
		sshKeys:       keyVolume(0o644, nil, nil), // the defaults of the API server
		applyOverride: replaceResources,
		finalizer:     "trainer.kubeflow.org/resource-in-use",
	},
}

func keyVolume(mode int32, private, public *int32) corev1.SecretVolumeSource {
	return corev1.SecretVolumeSource{DefaultMode: &mode, Items: []corev1.KeyToPath{
		{Key: "ssh-privatekey", Path: "id_rsa", Mode: private},
		{Key: "ssh-publickey", Path: "id_rsa.pub", Mode: public},
		{Key: "ssh-publickey", Path: "authorized_keys", Mode: public},
	}}
}

// mergeResources copies the resources of the TrainJob into the resources of the runtime, as Trainer does since 2.3. If
// the TrainJob does not set a resource, the runtime's value for this resource remains.
func mergeResources(into, from *corev1.ResourceRequirements) {
	for _, list := range []struct{ into, from *corev1.ResourceList }{
		{&into.Limits, &from.Limits}, {&into.Requests, &from.Requests},
	} {
		if *list.into == nil {
			*list.into = corev1.ResourceList{}
		}
		maps.Copy(*list.into, *list.from)
	}
}

// replaceResources replaces all resources of the runtime by the resources of the TrainJob, as Trainer did before 2.3.
func replaceResources(into, from *corev1.ResourceRequirements) { *into = *from.DeepCopy() }

func (v version) start(t *testing.T) *controlplane.ControlPlane {
	t.Helper()
	options := []controlplane.Option{controlplane.Trainer(v.trainer)}
	if !v.controllers {
		options = append(options, controlplane.CRDsOnly())
	}
	return controlplane.Start(t, options...)
}

// onEveryVersion runs a test once with each tested version of Trainer, in parallel. It skips older versions unless
// TRAINYARD_TRAINERS is set.
func onEveryVersion(t *testing.T, test func(*testing.T, version, *controlplane.ControlPlane)) {
	t.Helper()
	on(t, testedVersions, test)
}

func onVersionsWithControllers(t *testing.T, test func(*testing.T, version, *controlplane.ControlPlane)) {
	t.Helper()
	on(t, slices.DeleteFunc(slices.Clone(testedVersions), func(v version) bool { return !v.controllers }), test)
}

func on(t *testing.T, versions []version, test func(*testing.T, version, *controlplane.ControlPlane)) {
	t.Helper()
	for i, v := range versions {
		t.Run(v.trainer, func(t *testing.T) {
			if i > 0 {
				skipUnlessAllTrainers(t)
			}
			t.Parallel()
			test(t, v, v.start(t))
		})
	}
}

// skipUnlessAllTrainers skips a test unless TRAINYARD_TRAINERS is set. Tests with older releases of Trainer, and
// a test with thousands of TrainJobs, call skipUnlessAllTrainers. Together, these tests take more than ten
// minutes. `make trainers` always runs them. CI runs these tests in `make test` if the inputs of the tests have
// changed since `make trainers` last passed (docs/lanes.md). Older releases of Trainer must be tested because
// OpenShift AI contains them.
func skipUnlessAllTrainers(t *testing.T) {
	t.Helper()
	if os.Getenv("TRAINYARD_TRAINERS") == "" {
		t.Skip("tests with older releases of Trainer, or with thousands of TrainJobs, take more than ten minutes: run `make trainers`")
	}
}

// TestEveryVersionServesItsOwnAPI checks fields that differ between versions, to show that the CRDs of the right
// version are installed.
func TestEveryVersionServesItsOwnAPI(t *testing.T) {
	onEveryVersion(t, func(t *testing.T, v version, cp *controlplane.ControlPlane) {
		var crd apiextensionsv1.CustomResourceDefinition
		if err := cp.Client().Get(t.Context(), client.ObjectKey{Name: "clustertrainingruntimes.trainer.kubeflow.org"}, &crd); err != nil {
			t.Fatal(err)
		}
		schema := *crd.Spec.Versions[0].Schema.OpenAPIV3Schema
		for _, field := range []string{"spec", "mlPolicy", "torch"} {
			schema = schema.Properties[field]
		}
		if diff := cmp.Diff(v.torchFields, slices.Sorted(maps.Keys(schema.Properties))); diff != "" {
			t.Errorf("fields of spec.mlPolicy.torch: -want +got:\n%s", diff)
		}
	})
}
