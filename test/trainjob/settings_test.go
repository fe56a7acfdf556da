package trainjob

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"strings"
	"testing"
	"time"

	trainer "github.com/kubeflow/trainer/v2/pkg/apis/trainer/v1alpha1"
	networkingv1 "k8s.io/api/networking/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trainyard/trainyard/api/jobs"
	"github.com/trainyard/trainyard/api/v1alpha1"
	"github.com/trainyard/trainyard/test/build"
	"github.com/trainyard/trainyard/test/controlplane"
)

func (w *world) runtimeWith(annotations map[string]string) string {
	w.Helper()
	runtime := &trainer.ClusterTrainingRuntime{}
	if err := w.cp.Client().Get(w.Context(), client.ObjectKey{Name: runtimeName}, runtime); err != nil {
		w.Fatal(err)
	}
	runtime.ObjectMeta = metav1.ObjectMeta{Name: w.namespace, Labels: runtime.Labels, Annotations: maps.Clone(runtime.Annotations)}
	maps.Copy(runtime.Annotations, annotations)
	if err := w.cp.Client().Create(w.Context(), runtime); err != nil {
		w.Fatal(err)
	}
	return runtime.Name
}

// TestGangTimeout checks a TrainJob whose pods fit on no cluster node. The controller must suspend the TrainJob after
// the timeout of the runtime. A user must be able to resume the suspended TrainJob.
func TestGangTimeout(t *testing.T) {
	w := newWorld(t, nil)
	runtime := w.runtimeWith(map[string]string{v1alpha1.GangAnnotation: `{"timeoutSeconds":3}`})
	w.submitTo("train", runtime)
	w.createPods("train")
	w.expect("train", jobs.GangScheduling, "Insufficient nvidia.com/gpu")
	w.expect("train", jobs.Suspended, "Suspended, because its pods were not scheduled within 3s. Previous message: Waiting for cluster nodes: 0 of 3 pods are scheduled; 0/6 nodes")
	w.expectReasons("train", "JobSubmitted", "GangSchedulingStarted", "GangSchedulingTimeout")
	longer := &trainer.ClusterTrainingRuntime{ObjectMeta: metav1.ObjectMeta{Name: runtime}}
	w.patch(longer, fmt.Sprintf(`{"metadata":{"annotations":{%q:%q}}}`, v1alpha1.GangAnnotation, `{"timeoutSeconds":900}`))
	w.patch(&trainer.TrainJob{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "train"}}, `{"spec":{"suspend":false}}`)
	w.expect("train", jobs.GangScheduling, "")
}

func (w *world) patch(object client.Object, change string) {
	w.Helper()
	if err := w.cp.Client().Patch(w.Context(), object, client.RawPatch(types.MergePatchType, []byte(change))); err != nil {
		w.Fatal(err)
	}
}

func TestTimeToLive(t *testing.T) {
	w := newWorld(t, nil)
	w.submitTo("train", w.runtimeWith(map[string]string{v1alpha1.TTLAnnotation: "4"}))
	w.createPods("train")
	w.schedule("train")
	w.run("train")
	w.end("train", 0, "")
	w.expect("train", jobs.Succeeded, "")
	began := time.Now()
	controlplane.Eventually(t, func(ctx context.Context) error {
		err := w.cp.Client().Get(ctx, client.ObjectKey{Namespace: w.namespace, Name: "train"}, &trainer.TrainJob{})
		if !apierrors.IsNotFound(err) {
			return errors.Join(err, errors.New("the TrainJob exists"))
		}
		return nil
	})
	if waited := time.Since(began); waited < time.Second {
		t.Errorf("the TrainJob was deleted %s after its end, want about 4 s", waited)
	}
}

// isolate creates a NetworkPolicy that denies all connections of pods in the namespace. The label of this policy makes
// the controller create a NetworkPolicy for each TrainJob.
func (w *world) isolate() {
	w.Helper()
	deny := &networkingv1.NetworkPolicy{
		ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "trainyard.deny", Labels: map[string]string{v1alpha1.IsolationLabel: "job"}},
		Spec:       networkingv1.NetworkPolicySpec{PolicyTypes: []networkingv1.PolicyType{"Ingress", "Egress"}},
	}
	if err := w.cp.Client().Create(w.Context(), deny); err != nil {
		w.Fatal(err)
	}
}

// TestPoliciesOfTrainJobs checks that a TrainJob gets its own NetworkPolicy if the namespace isolates TrainJobs from each other.
func TestPoliciesOfTrainJobs(t *testing.T) {
	w := newWorld(t, nil)
	w.submit("free")
	w.expect("free", jobs.Pending, "")
	w.isolate()
	w.submit("isolated")
	for _, name := range []string{"isolated", "free"} { // "free" was submitted before the namespace became isolated
		controlplane.Eventually(t, func(ctx context.Context) error {
			policy := &networkingv1.NetworkPolicy{}
			if err := w.cp.Client().Get(ctx, client.ObjectKey{Namespace: w.namespace, Name: "trainyard.job." + name}, policy); err != nil {
				return err
			}
			selected := policy.Spec.PodSelector.MatchLabels[jobs.JobSetLabel]
			if selected != name || len(policy.OwnerReferences) != 1 || policy.OwnerReferences[0].Name != name {
				return fmt.Errorf("the policy selects %q, and has owners %v", selected, policy.OwnerReferences)
			}
			return nil
		})
	}
	list := &networkingv1.NetworkPolicyList{}
	if err := w.cp.Client().List(t.Context(), list, client.InNamespace(w.cp.Namespace(t))); err != nil || len(list.Items) > 0 {
		t.Errorf("policies of another namespace: %v (%v)", list.Items, err)
	}
}

func (w *world) submitTo(name, runtime string) {
	w.Helper()
	job := build.MakeTrainJob(name, w.namespace).Runtime(runtime).Nodes(2).Obj()
	// Retry the creation of the TrainJob, because Trainer's webhook may not have seen the new
	// runtime yet.
	controlplane.Eventually(w, func(ctx context.Context) error {
		err := w.cp.Client().Create(ctx, job.DeepCopy())
		if err != nil && strings.Contains(err.Error(), "already exists") {
			return nil
		}
		return err
	})
}
