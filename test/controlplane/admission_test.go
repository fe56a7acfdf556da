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

	"github.com/trainyard/trainyard/generator/trainjob"
	"github.com/trainyard/trainyard/policies/cases"
	"github.com/trainyard/trainyard/test/controlplane"
	"github.com/trainyard/trainyard/test/process"
	"github.com/trainyard/trainyard/test/upstream"
)

// exempt is a user whose writes are not judged.
const exempt = "system:serviceaccount:openshift-kueue-operator:kueue-controller-manager"

// TestTrainJobsAreJudged: the API server admits and refuses what it should, for the rule that
// it should, and says what to change.
func TestTrainJobsAreJudged(t *testing.T) {
	onEveryVersion(t, func(t *testing.T, v version, cp *controlplane.ControlPlane) {
		judge(t, cp, v)
		for _, c := range casesOf(t, v) {
			t.Run(c.Name, func(t *testing.T) {
				said, err := verdict(t, cp, c)
				switch {
				case c.Admitted && err != nil:
					t.Errorf("got %v, want it admitted", err)
				case !c.Admitted && !strings.Contains(said, ": "+c.Refused[0]+": "):
					t.Errorf("got %v, want it refused by rule %s", err, c.Refused[0])
				case !strings.Contains(said, c.Says):
					t.Errorf("it says %s\nwant in it %s", said, c.Says)
				}
			})
		}
	})
}

// casesOf are the cases of all versions, and those of patches as a version knows them.
func casesOf(t *testing.T, v version) []cases.Case {
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
		found = append(found, c.Case)
	}
	return found
}

// judge has a control plane judge TrainJobs as the example acme says, until the test ends.
func judge(t *testing.T, cp *controlplane.ControlPlane, v version) []client.Object {
	t.Helper()
	objs := generated(t, "acme", v, "")["prod"]
	makeNamespaces(t, cp, objs)
	apply(t, cp, objs...)
	for _, obj := range mpiRuntimes(objs) {
		if v.controllers {
			known(t, cp, obj)
		}
	}
	for _, tenant := range []string{"team-vision", "team-speech", "team-physics"} {
		awaitJudge(t, cp, tenant)
	}
	return objs
}

// awaitJudge waits until the API server has read a tenant's policy, binding and parameters.
func awaitJudge(t *testing.T, cp *controlplane.ControlPlane, tenant string) {
	t.Helper()
	unlisted := cases.Case{Tenant: tenant, TrainJob: trainJob("probe", tenant, "unlisted")}
	patiently(t, func() error {
		if said, err := verdict(t, cp, unlisted); !strings.Contains(said, ": runtime: ") {
			return fmt.Errorf("a TrainJob of an unlisted runtime in %s: %w", tenant, errors.Join(err, errors.New("not refused for it")))
		}
		return nil
	})
}

// patiently waits longer than is usual: the API server reads policies once a second, and then
// their parameters, which a busy machine makes minutes of.
func patiently(t *testing.T, check func() error) {
	t.Helper()
	for end := time.Now().Add(3 * time.Minute); ; time.Sleep(200 * time.Millisecond) {
		err := check()
		if err == nil {
			return
		}
		if time.Now().After(end) {
			t.Fatal(err)
		}
	}
}

func trainJob(name, namespace, runtime string) map[string]any {
	return map[string]any{
		"apiVersion": "trainer.kubeflow.org/v1alpha1", "kind": "TrainJob",
		"metadata": map[string]any{"name": name, "namespace": namespace},
		"spec":     map[string]any{"runtimeRef": map[string]any{"name": runtime}},
	}
}

// verdict submits the TrainJob of a case without keeping it, and returns what the policy says of
// it: nothing if it admits it. The error may be anybody's.
func verdict(t *testing.T, cp *controlplane.ControlPlane, c cases.Case) (string, error) {
	t.Helper()
	user := c.User
	if user == "" {
		user = "somebody"
	}
	who := clientAs(t, cp, user)
	job := (&unstructured.Unstructured{Object: c.TrainJob}).DeepCopy()
	var err error
	if c.Before == nil {
		err = who.Create(t.Context(), job, client.DryRunAll)
	} else {
		err = update(t, cp, who, c, job)
	}
	_, said, _ := strings.Cut(fmt.Sprint(err), "denied request: ")
	return said, err
}

// update submits what a case changes in a TrainJob that is there.
func update(t *testing.T, cp *controlplane.ControlPlane, who client.Client, c cases.Case, job *unstructured.Unstructured) error {
	t.Helper()
	live := (&unstructured.Unstructured{Object: c.Before}).DeepCopy()
	live.SetName("")
	live.SetGenerateName("before-")
	if err := clientAs(t, cp, exempt).Create(t.Context(), live); err != nil {
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
		err := who.Update(t.Context(), changed, client.DryRunAll)
		if !apierrors.IsConflict(err) {
			return err
		}
		if err := cp.Client().Get(t.Context(), client.ObjectKeyFromObject(live), live); err != nil { // a controller was faster
			return err
		}
	}
}

// clientAs is somebody who may do anything, as far as RBAC is concerned.
func clientAs(t *testing.T, cp *controlplane.ControlPlane, user string) client.Client {
	t.Helper()
	config := cp.Config()
	config.Impersonate.UserName, config.Impersonate.Groups = user, []string{"system:masters"}
	c, err := upstream.Client(config)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// TestNoParametersNoTrainJobs: a tenant whose parameters somebody has deleted gets no TrainJobs
// at all, instead of some that nobody has judged; other namespaces are left alone.
func TestNoParametersNoTrainJobs(t *testing.T) {
	onEveryVersion(t, func(t *testing.T, v version, cp *controlplane.ControlPlane) {
		judge(t, cp, v)
		harmless := cases.Case{Tenant: "team-vision", TrainJob: trainJob("job", "team-vision", "mpi-openmpi-cpu")}
		if _, err := verdict(t, cp, harmless); err != nil {
			t.Fatal(err)
		}
		parameters := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "trainyard-system", Name: "trainyard-team-vision"}}
		if err := cp.Client().Delete(t.Context(), parameters); err != nil {
			t.Fatal(err)
		}
		patiently(t, func() error {
			if _, err := verdict(t, cp, harmless); err == nil || !strings.Contains(err.Error(), "no params found for policy binding with `Deny` parameterNotFoundAction") {
				return fmt.Errorf("a TrainJob without parameters: %w", errors.Join(err, errors.New("not refused for it")))
			}
			return nil
		})
		elsewhere := cases.Case{TrainJob: trainJob("job", cp.Namespace(t), "mpi-openmpi-cpu")}
		if _, err := verdict(t, cp, elsewhere); err != nil {
			t.Errorf("in a namespace that is no tenant's: %v", err)
		}
	})
}

// fieldsOf is an object as decoded JSON.
func fieldsOf(t *testing.T, obj client.Object) map[string]any {
	t.Helper()
	u, is := obj.(*unstructured.Unstructured)
	if !is {
		t.Fatalf("%T is not read from a file", obj)
	}
	return u.Object
}

// TestThePolicyIsWellTyped: Kubernetes' own controller has nothing against an expression, with the
// types of each version of Trainer.
func TestThePolicyIsWellTyped(t *testing.T) {
	onEveryVersion(t, func(t *testing.T, v version, cp *controlplane.ControlPlane) {
		judge(t, cp, v)
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
		patiently(t, func() error {
			err := cp.Client().Get(t.Context(), client.ObjectKey{Name: "trainyard-trainjobs"}, &policy)
			if err == nil && (policy.Status.TypeChecking == nil || policy.Status.ObservedGeneration != policy.Generation) {
				err = fmt.Errorf("nobody has checked its types: %s", process.Tail(log.Name()))
			}
			return err
		})
		for _, warning := range policy.Status.TypeChecking.ExpressionWarnings {
			t.Errorf("%s: %s", warning.FieldRef, warning.Warning)
		}
	})
}
