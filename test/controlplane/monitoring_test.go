package controlplane_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	admissionv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/trainyard/trainyard/api/v1alpha1"
	"github.com/trainyard/trainyard/test/controlplane"
)

// rulesPlatform is a document that sets all fields of alerting rules.
const rulesPlatform = `
apiVersion: trainyard.dev/v1alpha1
kind: Platform
metadata: {name: rules}
spec:
  runtimes:
    mpi: {from: openmpi-cpu, image: a}
  grafana:
    namespace: watching
    rules: {delivery: prometheus-operator, labels: {release: prometheus}, runbooks: "https://wiki.acme.example/runbooks"}
`

// TestRulesAreAppliedWithoutDrift applies alerting rules to an API server with the CRDs of the prometheus-operator.
// The API server must accept every field and add no fields.
func TestRulesAreAppliedWithoutDrift(t *testing.T) {
	cp := controlplane.Start(t)
	objs := generateDocument(t, rulesPlatform)
	expectApplied(t, cp, objs)
	if diff := cmp.Diff(map[string]int{"ClusterTrainingRuntime": 1, "PrometheusRule": 2}, byKind(objs)); diff != "" {
		t.Errorf("objects: -want +got:\n%s", diff)
	}
	for _, obj := range objs {
		if platform := obj.GetLabels()[v1alpha1.PlatformLabel]; platform != "rules" {
			t.Errorf("%s has label platform %s, want rules", obj.GetName(), platform)
		}
		if release := obj.GetLabels()["release"]; obj.GetObjectKind().GroupVersionKind().Kind == "PrometheusRule" && release != "prometheus" {
			t.Errorf("%s has label release %q, want prometheus", obj.GetName(), release)
		}
	}
}

// TestFailedWebhookCallsAreCounted checks that the API server emits the metrics that the alert TrainyardWebhookFailing
// queries. If the API server rejects a request because a webhook call fails, it counts the call in two metrics. The
// first metric counts all webhook calls. The second metric counts only rejections, and its label error_type tells
// whether the call failed or the webhook denied the request.
func TestFailedWebhookCallsAreCounted(t *testing.T) {
	cp := controlplane.Start(t)
	namespace, name := cp.Namespace(t), "trainyard.unreachable.example"
	nowhere, none := "https://127.0.0.1:1/", admissionv1.SideEffectClassNone
	webhook := &admissionv1.ValidatingWebhookConfiguration{Webhooks: []admissionv1.ValidatingWebhook{{
		Name: name, AdmissionReviewVersions: []string{"v1"}, SideEffects: &none,
		ClientConfig:      admissionv1.WebhookClientConfig{URL: &nowhere},
		NamespaceSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"kubernetes.io/metadata.name": namespace}},
		Rules: []admissionv1.RuleWithOperations{{
			Operations: []admissionv1.OperationType{admissionv1.Create},
			Rule:       admissionv1.Rule{APIGroups: []string{""}, APIVersions: []string{"v1"}, Resources: []string{"configmaps"}},
		}},
	}}}
	webhook.SetName(name)
	if err := cp.Client().Create(t.Context(), webhook); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cp.Client().Delete(context.WithoutCancel(t.Context()), webhook) })
	config := &corev1.ConfigMap{}
	config.SetNamespace(namespace)
	config.SetGenerateName("a-")
	controlplane.Eventually(t, func(ctx context.Context) error {
		if err := cp.Client().Create(ctx, config.DeepCopy()); err == nil {
			return errors.New("the API server does not call the webhook yet")
		}
		text := readMetrics(t, cp)
		for _, series := range []string{
			`apiserver_admission_webhook_rejection_count{error_type="calling_webhook_error",name="` + name + `",operation="CREATE",`,
			`apiserver_admission_webhook_admission_duration_seconds_count{name="` + name + `",operation="CREATE",rejected="true",`,
		} {
			if !strings.Contains(text, series) {
				return fmt.Errorf("the API server emits no series %s", series)
			}
		}
		return nil
	})
}
