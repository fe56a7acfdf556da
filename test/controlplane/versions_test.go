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

// version is a release of Trainer that bundles are held against, with all that tests expect
// of it and not of the others.
type version struct {
	trainer     string // folder below tools/
	controllers bool   // whether tools/ builds its controllers; otherwise its CRDs have to do

	// torch are the fields that its CRD gives spec.mlPolicy.torch, which tell versions apart.
	torch []string
	// keys is the volume with a job's SSH keys, but for the name of the Secret.
	keys corev1.SecretVolumeSource
	// override does to a container's resources what a TrainJob's resourcesPerNode do.
	override func(into, from *corev1.ResourceRequirements)
	// refusesReserved tells whether a TrainJob may not set variables that Trainer itself sets.
	refusesReserved bool
	// finalizer is on a runtime as long as TrainJobs use it. Trainer 2.1 adds it by writing the
	// whole runtime; 2.2, whose controllers are not here, patches it in.
	finalizer string
}

// versions are the releases in question, the default first.
var versions = []version{
	{
		trainer: "trainer-2.3", controllers: true,
		torch:           []string{"envInjection"},
		keys:            keys(0o400, ptr.To[int32](0o640), ptr.To[int32](0o644)),
		override:        mergeResources,
		refusesReserved: true,
	},
	{
		trainer: "trainer-2.2",
	},
	{
		trainer: "trainer-2.1", controllers: true,
		torch:     []string{"elasticPolicy", "numProcPerNode"},
		keys:      keys(0o644, nil, nil), // what the API server defaults to
		override:  replaceResources,
		finalizer: "trainer.kubeflow.org/resource-in-use",
	},
}

// keys is a volume whose files have these modes; nil means the first.
func keys(mode int32, private, public *int32) corev1.SecretVolumeSource {
	return corev1.SecretVolumeSource{DefaultMode: &mode, Items: []corev1.KeyToPath{
		{Key: "ssh-privatekey", Path: "id_rsa", Mode: private},
		{Key: "ssh-publickey", Path: "id_rsa.pub", Mode: public},
		{Key: "ssh-publickey", Path: "authorized_keys", Mode: public},
	}}
}

// mergeResources overrides single resources and keeps the runtime's others.
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

// replaceResources forgets the runtime's, as Trainer did before 2.3.
func replaceResources(into, from *corev1.ResourceRequirements) { *into = *from.DeepCopy() }

// start starts a control plane of this version.
func (v version) start(t *testing.T) *controlplane.ControlPlane {
	t.Helper()
	options := []controlplane.Option{controlplane.Trainer(v.trainer)}
	if !v.controllers {
		options = append(options, controlplane.CRDsOnly())
	}
	return controlplane.Start(t, options...)
}

// onEveryVersion runs a test on each version, on several of them at a time.
func onEveryVersion(t *testing.T, test func(*testing.T, version, *controlplane.ControlPlane)) {
	t.Helper()
	on(t, versions, test)
}

// whereJobsRun runs a test on each version whose controllers are there.
func whereJobsRun(t *testing.T, test func(*testing.T, version, *controlplane.ControlPlane)) {
	t.Helper()
	on(t, slices.DeleteFunc(slices.Clone(versions), func(v version) bool { return !v.controllers }), test)
}

func on(t *testing.T, versions []version, test func(*testing.T, version, *controlplane.ControlPlane)) {
	t.Helper()
	for i, v := range versions {
		t.Run(v.trainer, func(t *testing.T) {
			if i > 0 {
				older(t)
			}
			t.Parallel()
			test(t, v, v.start(t))
		})
	}
}

// older leaves what is about an older release to `make trainers`, which runs it with the same test code, in CI as well:
// beside the newest it is more than half of this package's time. OpenShift AI has older ones, so nobody may leave them out.
func older(t *testing.T) {
	t.Helper()
	if os.Getenv("TRAINYARD_TRAINERS") == "" {
		t.Skip("`make trainers` runs this with older releases, as CI does after `make test`; TRAINYARD_TRAINERS=1 runs it here")
	}
}

// TestEveryVersionServesItsOwnAPI proves that the others are not just called differently.
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
		if diff := cmp.Diff(v.torch, slices.Sorted(maps.Keys(schema.Properties))); diff != "" {
			t.Errorf("fields of spec.mlPolicy.torch: -want +got:\n%s", diff)
		}
	})
}
