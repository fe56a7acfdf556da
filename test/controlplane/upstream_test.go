package controlplane_test

import (
	"os"
	"os/exec"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	jobset "sigs.k8s.io/jobset/api/jobset/v1alpha2"

	"github.com/trainyard/trainyard/test/build"
	"github.com/trainyard/trainyard/test/controlplane"
)

const fixture = "testdata/openmpi.yaml"

func TestMain(m *testing.M) { os.Exit(controlplane.Main(m)) }

func TestRuntimeIsAppliedWithoutDrift(t *testing.T) {
	onEveryVersion(t, func(t *testing.T, _ version, cp *controlplane.ControlPlane) {
		runtime := fixtureRuntime(t)
		apply(t, cp, runtime)
		expectNoDrift(t, cp, runtime)
	})
}

func TestApplyAgainReportsChanges(t *testing.T) {
	cp := controlplane.Start(t)
	namespace := cp.Namespace(t)
	job := build.MakeTrainJob("train", namespace).Runtime(installRuntime(t, cp, fixtureRuntime(t)).Name).Suspended()
	if err := cp.Apply(t.Context(), job.Obj()); err != nil {
		t.Fatal(err)
	}
	changes, err := cp.ApplyAgain(t.Context(), job.Label("team", "a").Obj())
	if err != nil {
		t.Fatal(err)
	}
	if len(changes) != 1 {
		t.Errorf("a new label on one object gave %d changes, want 1: %v", len(changes), changes)
	}
}

type refusedObjects map[string]struct {
	obj     client.Object
	refusal string
}

func (cases refusedObjects) expect(t *testing.T, cp *controlplane.ControlPlane) {
	t.Helper()
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			err := cp.Apply(t.Context(), tc.obj)
			if err == nil || !strings.Contains(err.Error(), tc.refusal) {
				t.Errorf("Apply() = %v, want an error with %q", err, tc.refusal)
			}
		})
	}
}

// TestInvalidObjectsAreRefusedByTheSchema checks that the CRDs and their CEL rules are in force.
func TestInvalidObjectsAreRefusedByTheSchema(t *testing.T) {
	onEveryVersion(t, func(t *testing.T, _ version, cp *controlplane.ControlPlane) {
		refusedObjects{
			"a field that does not exist is refused by the schema": {
				obj:     changedRuntime(t, int64(2), "spec", "mlPolicy", "mpi", "slotsPerWorker"),
				refusal: "spec.mlPolicy.mpi.slotsPerWorker: field not declared in schema",
			},
			"an MPI that Trainer does not implement is refused by the schema": {
				obj:     changedRuntime(t, "Intel", "spec", "mlPolicy", "mpi", "mpiImplementation"),
				refusal: `Unsupported value: "Intel"`,
			},
			"two machine learning policies are refused by CEL": {
				obj:     changedRuntime(t, map[string]any{}, "spec", "mlPolicy", "torch"),
				refusal: "Only one of the policy can be configured",
			},
		}.expect(t, cp)
	})
}

// TestInvalidObjectsAreRefusedByWebhooks checks that the webhooks of Trainer and JobSet are in force.
func TestInvalidObjectsAreRefusedByWebhooks(t *testing.T) {
	onVersionsWithControllers(t, func(t *testing.T, _ version, cp *controlplane.ControlPlane) {
		namespace := cp.Namespace(t)
		refusedObjects{
			"a TrainJob without a runtime is refused by Trainer": {
				obj:     build.MakeTrainJob("lost", namespace).Runtime("no-such-runtime").Obj(),
				refusal: "validator.trainjob.trainer.kubeflow.org",
			},
			"a JobSet that succeeds with a job it does not have is refused by JobSet": {
				obj: &jobset.JobSet{
					ObjectMeta: metav1.ObjectMeta{Name: "hopeless", Namespace: namespace},
					Spec: jobset.JobSetSpec{SuccessPolicy: &jobset.SuccessPolicy{
						Operator: jobset.OperatorAll, TargetReplicatedJobs: []string{"launcher"},
					}},
				},
				refusal: "vjobset.kb.io",
			},
		}.expect(t, cp)
	})
}

func TestReservedVariablesAreRefusedSinceTrainer23(t *testing.T) {
	onVersionsWithControllers(t, func(t *testing.T, v version, cp *controlplane.ControlPlane) {
		runtime := installRuntime(t, cp, fixtureRuntime(t)).Name
		job := build.MakeTrainJob("reserved", cp.Namespace(t)).Runtime(runtime).Env("OMPI_MCA_plm_rsh_args", "-v").Obj()
		if v.refusesReserved {
			refusedObjects{"in a TrainJob": {obj: job, refusal: "must not have reserved envs"}}.expect(t, cp)
			return
		}
		apply(t, cp, job)
		created := waitForOutcome(t, cp, client.ObjectKeyFromObject(job))
		launcher := variables(mpiContainer(t, "launcher", created.launcher.Spec.Template.Spec))
		if got := launcher["OMPI_MCA_plm_rsh_args"].Value; got != "-v" {
			t.Errorf("OMPI_MCA_plm_rsh_args is %q, want -v, as the TrainJob sets it", got)
		}
	})
}

func TestCRDsOnlyHasNoWebhooks(t *testing.T) {
	skipUnlessAllTrainers(t)
	cp := controlplane.Start(t, controlplane.Trainer("trainer-2.2"), controlplane.CRDsOnly())
	apply(t, cp, build.MakeTrainJob("lost", cp.Namespace(t)).Runtime("no-such-runtime").Obj())
}

func TestKubectlConnectsWithTheKubeconfig(t *testing.T) {
	cp := controlplane.Start(t)
	out, err := exec.Command(cp.Tool("kubectl"), "--kubeconfig", cp.Kubeconfig(), "api-resources", "-o", "name").CombinedOutput()
	if err != nil {
		t.Fatalf("kubectl: %v: %s", err, out)
	}
	for _, resource := range []string{"clustertrainingruntimes.trainer.kubeflow.org", "jobsets.jobset.x-k8s.io"} {
		if !strings.Contains(string(out), resource) {
			t.Errorf("kubectl does not list %s:\n%s", resource, out)
		}
	}
}
