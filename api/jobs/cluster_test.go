package jobs_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	trainer "github.com/kubeflow/trainer/v2/pkg/apis/trainer/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trainyard/trainyard/api/jobs"
	"github.com/trainyard/trainyard/test/build"
	"github.com/trainyard/trainyard/test/controlplane"
)

// createFailure creates the TrainJob "sum", a warning event, and a pod. According to the status of the pod, its
// container was killed a minute after the event. The test cluster has no kubelet, so createFailure itself writes the
// status of the pod.
func createFailure(t *testing.T, cp *controlplane.ControlPlane) client.ObjectKey {
	t.Helper()
	deliver(t, cp)
	namespace := cp.Namespace(t)
	job := build.MakeTrainJob("sum", namespace).Runtime(runtimeName).Suspended().Obj()
	submit(t, connect(t, cp, ""), job)
	pod := createPod(t, cp, namespace, "sum-node-0-0-abcde", "node", "0")
	pod.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: jobs.MainContainer, State: corev1.ContainerState{
		Terminated: &corev1.ContainerStateTerminated{ExitCode: 137, Reason: "OOMKilled", FinishedAt: metav1.NewTime(time.Now().Add(time.Minute))},
	}}}
	event := &corev1.Event{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "sum.1"}, Type: corev1.EventTypeWarning, Reason: "FailedCreate",
		Message:        `Error creating: pods "sum-node-0-1-" is forbidden: exceeded quota: compute, requested: limits.cpu=4, used: limits.cpu=8, limited: limits.cpu=8`,
		LastTimestamp:  metav1.Now(),
		InvolvedObject: corev1.ObjectReference{Namespace: namespace, Kind: "Job", Name: "sum-node-0"},
	}
	if err := errors.Join(cp.Client().Status().Update(t.Context(), pod), cp.Client().Create(t.Context(), event)); err != nil {
		t.Fatal(err)
	}
	return client.ObjectKeyFromObject(job)
}

func TestExplainOnCluster(t *testing.T) {
	cp := controlplane.Start(t)
	key := createFailure(t, cp)
	found, err := connect(t, cp, "").Explain(t.Context(), key)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, c := range found.Causes {
		got = append(got, c.Code+" in "+c.Source)
	}
	want := []string{
		"QuotaExceeded in event FailedCreate of Job sum-node-0",
		"OutOfMemory in state of container node in pod sum-node-0-0-abcde",
		"Suspended in state of TrainJob sum",
	}
	if strings.Join(got, "\n") != strings.Join(want, "\n") || found.Phase != jobs.Suspended {
		t.Errorf("phase %s, causes %q, want %s and %q", found.Phase, got, jobs.Suspended, want)
	}
	if len(found.Missing) > 0 { // the API server returns an empty log for a pod without a cluster node
		t.Errorf("missing: %q", found.Missing)
	}
}

// TestExplainWithFewPermissions: without events and logs, Explain must find the cause in the status of the pod.
func TestExplainWithFewPermissions(t *testing.T) {
	cp := controlplane.Start(t)
	key := createFailure(t, cp)
	if _, err := connect(t, cp, key.Namespace).Explain(t.Context(), key); !apierrors.IsForbidden(err) {
		t.Errorf("Explain() of a stranger = %v, want a Forbidden error", err)
	}
	allow(t, cp, key.Namespace, rbacv1.PolicyRule{Verbs: []string{"get", "list"}, APIGroups: []string{trainer.GroupVersion.Group}, Resources: []string{"trainjobs"}},
		rbacv1.PolicyRule{Verbs: []string{"list"}, APIGroups: []string{""}, Resources: []string{"pods"}})
	var found jobs.Explanation
	controlplane.Eventually(t, func(ctx context.Context) (err error) { // the API server notices new Roles after some time
		found, err = connect(t, cp, key.Namespace).Explain(ctx, key)
		return err
	})
	if len(found.Causes) == 0 || found.Causes[0].Code != "OutOfMemory" {
		t.Errorf("causes: %+v, want OutOfMemory", found.Causes)
	}
	if missing := strings.Join(found.Missing, "\n"); !strings.Contains(missing, "pods/log") || !strings.Contains(missing, `cannot list resource "events"`) {
		t.Errorf("missing: %q, want logs and events", missing)
	}
}

// allow creates a Role and a RoleBinding in a namespace, for the user who has the same name as the
// namespace.
func allow(t *testing.T, cp *controlplane.ControlPlane, namespace string, rules ...rbacv1.PolicyRule) {
	t.Helper()
	meta := metav1.ObjectMeta{Namespace: namespace, Name: "own"}
	role := &rbacv1.Role{ObjectMeta: meta, Rules: rules}
	binding := &rbacv1.RoleBinding{
		ObjectMeta: meta, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: role.Name},
		Subjects: []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: namespace}},
	}
	if err := errors.Join(cp.Client().Create(t.Context(), role), cp.Client().Create(t.Context(), binding)); err != nil {
		t.Fatal(err)
	}
}

func TestNames(t *testing.T) {
	cp := controlplane.Start(t)
	deliver(t, cp)
	namespace := cp.Namespace(t)
	all := connect(t, cp, "")
	for _, name := range []string{"b", "a"} {
		submit(t, all, build.MakeTrainJob(name, namespace).Runtime(runtimeName).Suspended().Obj())
	}
	if names, err := all.Names(t.Context(), namespace); err != nil || strings.Join(names, " ") != "a b" {
		t.Errorf("Names() = %q, %v", names, err)
	}
}
