package controlplane_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trainyard/trainyard/api/v1alpha1"
	"github.com/trainyard/trainyard/generator"
	"github.com/trainyard/trainyard/generator/vet/trainjob"
	"github.com/trainyard/trainyard/policies/cases"
	"github.com/trainyard/trainyard/test/controlplane"
	"github.com/trainyard/trainyard/test/matrix"
	"github.com/trainyard/trainyard/test/poll"
	"github.com/trainyard/trainyard/test/process"
	"github.com/trainyard/trainyard/test/upstream"
)

// exemptAccount is a user whose requests the admission policy does not check.
const exemptAccount = "system:serviceaccount:openshift-kueue-operator:kueue-controller-manager"

// TestTrainJobsAreAdmittedOrRefused submits the cases of policies/testdata to the API server.
func TestTrainJobsAreAdmittedOrRefused(t *testing.T) {
	onEveryVersion(t, func(t *testing.T, v version, cp *controlplane.ControlPlane) {
		applyPolicies(t, cp, v)
		for _, c := range listCases(t, v) {
			t.Run(c.Name, func(t *testing.T) {
				groups := []string{strings.TrimPrefix(c.Tenant, "team-"), "system:authenticated"} // the tenant's editors
				if strings.HasPrefix(c.User, "system:") {
					groups = []string{"system:masters"} // a controller
				}
				message, err := submitAs(t, cp, c, groups...)
				switch {
				case c.Admitted && err != nil:
					t.Errorf("got %v, want it admitted", err)
				case !c.Admitted && !strings.Contains(message, ": "+c.Refused[0]+": "):
					t.Errorf("got %v, want it refused by rule %s", err, c.Refused[0])
				case !strings.Contains(message, c.Says):
					t.Errorf("the message is %s\nwant it to contain %s", message, c.Says)
				}
			})
		}
	})
}

// listCases returns the cases for version v of Trainer, except cases that set labels of namespaces. The result contains
// the cases in any.yaml, which apply to every version of Trainer. For Trainer 2.1, listCases adds the cases in
// overrides.yaml. For later versions, listCases adds the cases in patches.yaml.
func listCases(t *testing.T, v version) []cases.Case {
	t.Helper()
	const folder = "../../policies/testdata"
	all, err := trainjob.ReadCases(folder)
	if err != nil {
		t.Fatal(err)
	}
	patches := "patches.yaml"
	if v.trainer == "trainer-2.1" {
		patches = "overrides.yaml"
	}
	var found []cases.Case
	for _, c := range slices.Concat(all[filepath.Join(folder, "any.yaml")], all[filepath.Join(folder, patches)]) {
		if c.NamespaceLabels == nil { // TestNamespacesNeedTheLabelOfKueue changes labels of namespaces
			found = append(found, c.Case)
		}
	}
	return found
}

// applyPolicies applies the example acme, and waits until its admission policies are in force. When the
// test ends, the applied objects are deleted, except namespaces and objects with the label
// v1alpha1.KeepLabel.
func applyPolicies(t *testing.T, cp *controlplane.ControlPlane, v version) []client.Object {
	t.Helper()
	return applyPlatform(t, cp, v, "")
}

// applyPlatform applies the example acme in the same way as applyPolicies, but first merges a layer into the
// example. The layer is a partial document, and can be empty.
func applyPlatform(t *testing.T, cp *controlplane.ControlPlane, v version, layer string) []client.Object {
	t.Helper()
	var layers []generator.Input
	if layer != "" {
		layers = append(layers, generator.Input{Name: "layer.yaml", Text: []byte(layer)})
	}
	objs := generateWithLayers(t, "acme", v, layers...)["prod"]
	createNamespaces(t, cp, objs)
	apply(t, cp, objs...)
	for _, obj := range matrix.Runtimes(objs) {
		if v.controllers {
			installRuntime(t, cp, obj)
		}
	}
	for _, tenant := range []string{"team-vision", "team-speech", "team-physics"} {
		awaitPolicy(t, cp, tenant)
	}
	return objs
}

// awaitPolicy waits until the API server has read a tenant's policy, binding and parameters.
func awaitPolicy(t *testing.T, cp *controlplane.ControlPlane, tenant string) {
	t.Helper()
	unlisted := cases.Case{Tenant: tenant, TrainJob: trainJob("probe", tenant, "unlisted")}
	poll.Until(t, policyTimeout, func(context.Context) error {
		if message, err := submit(t, cp, unlisted); !strings.Contains(message, ": unlisted-runtime: ") {
			return fmt.Errorf("a TrainJob of an unlisted runtime in %s: %w", tenant, errors.Join(err, errors.New("not refused by rule unlisted-runtime")))
		}
		return nil
	})
}

// policyTimeout is the maximum time for which a test waits until a new policy is in force. The API server
// looks for new policies once a second, and then reads their parameters. On a busy machine, the API server
// can need minutes to read the parameters of a new policy.
const policyTimeout = 3 * time.Minute

func trainJob(name, namespace, runtime string) map[string]any {
	return map[string]any{
		"apiVersion": v1alpha1.TrainerAPIVersion, "kind": "TrainJob",
		"metadata": map[string]any{"name": name, "namespace": namespace},
		"spec":     map[string]any{"runtimeRef": map[string]any{"name": runtime}},
	}
}

// submit submits the TrainJob of a case as a dry run. It returns the message of the admission policy, and the API
// server's error. If the admission policy does not refuse the TrainJob, the message is empty.
func submit(t *testing.T, cp *controlplane.ControlPlane, c cases.Case) (string, error) {
	t.Helper()
	return submitAs(t, cp, c, "system:masters")
}

func submitAs(t *testing.T, cp *controlplane.ControlPlane, c cases.Case, groups ...string) (string, error) {
	t.Helper()
	user := c.User
	if user == "" {
		user = "ann"
	}
	submitter := clientAs(t, cp, user, groups...)
	job := (&unstructured.Unstructured{Object: c.TrainJob}).DeepCopy()
	var err error
	if c.Before == nil {
		err = submitter.Create(t.Context(), job, client.DryRunAll)
	} else {
		err = update(t, cp, submitter, c, job)
	}
	_, message, _ := strings.Cut(fmt.Sprint(err), "denied request: ")
	return message, err
}

// update creates the TrainJob c.Before, and then updates it with the spec, labels and annotations
// of the argument "job". Only the update is a dry run. At the end, the created TrainJob is deleted.
func update(t *testing.T, cp *controlplane.ControlPlane, submitter client.Client, c cases.Case, job *unstructured.Unstructured) error {
	t.Helper()
	live := (&unstructured.Unstructured{Object: c.Before}).DeepCopy()
	live.SetName("")
	live.SetGenerateName("before-")
	if err := clientAs(t, cp, exemptAccount, "system:masters").Create(t.Context(), live); err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := cp.Client().Delete(context.Background(), live); err != nil {
			t.Errorf("cleaning up: %v", err)
		}
	}()
	for {
		changed := live.DeepCopy()
		changed.Object["spec"] = maps.Clone(job.Object["spec"].(map[string]any))
		changed.SetLabels(job.GetLabels())
		changed.SetAnnotations(job.GetAnnotations())
		err := submitter.Update(t.Context(), changed, client.DryRunAll)
		if !apierrors.IsConflict(err) {
			return err
		}
		if err := cp.Client().Get(t.Context(), client.ObjectKeyFromObject(live), live); err != nil { // a controller has changed the object since it was read
			return err
		}
	}
}

// clientAs returns a client that impersonates a user. If the groups include system:masters, RBAC allows all requests,
// so that only admission can refuse them.
func clientAs(t *testing.T, cp *controlplane.ControlPlane, user string, groups ...string) client.Client {
	t.Helper()
	config := cp.Config()
	config.Impersonate.UserName, config.Impersonate.Groups = user, groups
	c, err := upstream.Client(config)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// TestTrainJobsAreRefusedWithoutParameters deletes the parameters of a tenant's policy. The API server must then
// refuse all TrainJobs of the tenant, because it cannot check TrainJobs without the parameters. The deletion
// must not affect TrainJobs in other namespaces.
func TestTrainJobsAreRefusedWithoutParameters(t *testing.T) {
	onEveryVersion(t, func(t *testing.T, v version, cp *controlplane.ControlPlane) {
		applyPolicies(t, cp, v)
		harmless := cases.Case{Tenant: "team-vision", TrainJob: trainJob("job", "team-vision", "mpi-openmpi-cpu")}
		if _, err := submit(t, cp, harmless); err != nil {
			t.Fatal(err)
		}
		parameters := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: v1alpha1.SystemNamespace, Name: "trainyard-team-vision"}}
		if err := cp.Client().Delete(t.Context(), parameters); err != nil {
			t.Fatal(err)
		}
		poll.Until(t, policyTimeout, func(context.Context) error {
			if _, err := submit(t, cp, harmless); err == nil || !strings.Contains(err.Error(), "no params found for policy binding with `Deny` parameterNotFoundAction") {
				return fmt.Errorf("a TrainJob without parameters: %w", errors.Join(err, errors.New("not refused because of the missing parameters")))
			}
			return nil
		})
		elsewhere := cases.Case{TrainJob: trainJob("job", cp.Namespace(t), "mpi-openmpi-cpu")}
		if _, err := submit(t, cp, elsewhere); err != nil {
			t.Errorf("in a namespace without a tenant: %v", err)
		}
	})
}

func readFields(t *testing.T, obj client.Object) map[string]any {
	t.Helper()
	u, ok := obj.(*unstructured.Unstructured)
	if !ok {
		t.Fatalf("%T is not read from a file", obj)
	}
	return u.Object
}

// TestPolicyExpressionsTypeCheck checks the types in the policy's expressions with the type checker
// of Kubernetes, against the CRDs of each version of Trainer.
func TestPolicyExpressionsTypeCheck(t *testing.T) {
	onEveryVersion(t, func(t *testing.T, v version, cp *controlplane.ControlPlane) {
		applyPolicies(t, cp, v)
		log, err := os.Create(filepath.Join(t.TempDir(), "kube-controller-manager.log"))
		if err != nil {
			t.Fatal(err)
		}
		cmd := exec.Command(cp.Tool("kube-controller-manager"), "--kubeconfig", cp.Kubeconfig(), "--leader-elect=false", "--secure-port=0",
			"--controllers=validatingadmissionpolicy-status-controller")
		manager, err := process.Run(cmd, log)
		if err != nil {
			t.Fatal(err)
		}
		defer func() {
			if err := manager.Stop(); err != nil {
				t.Error(err)
			}
		}()
		var policy admissionv1.ValidatingAdmissionPolicy
		poll.Until(t, policyTimeout, func(ctx context.Context) error {
			err := cp.Client().Get(ctx, client.ObjectKey{Name: "trainyard-trainjobs"}, &policy)
			if err == nil && (policy.Status.TypeChecking == nil || policy.Status.ObservedGeneration != policy.Generation) {
				err = fmt.Errorf("the types of the policy are not checked yet: %s", process.Tail(log.Name()))
			}
			return err
		})
		for _, warning := range policy.Status.TypeChecking.ExpressionWarnings {
			t.Errorf("%s: %s", warning.FieldRef, warning.Warning)
		}
	})
}
