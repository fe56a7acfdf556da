package trainjobsource

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trainyard/trainyard/api/metrics"
	"github.com/trainyard/trainyard/api/v1alpha1"
	"github.com/trainyard/trainyard/controller"
	"github.com/trainyard/trainyard/test/controlplane"
	"github.com/trainyard/trainyard/test/grafanadata"
	"github.com/trainyard/trainyard/test/kubeconfig"
)

func TestSteadyControllerWritesNothing(t *testing.T) {
	l := newLive(t)
	for i := range 5 {
		l.push(fmt.Sprintf("job-%d", i), "numNodes: 2")
	}
	l.push("big", "numNodes: 100000")
	l.object.Spec.Interval = metav1.Duration{Duration: 10 * time.Second}
	l.run(l.options())
	l.create()
	l.wait("False", v1alpha1.ReasonJobsInvalid)
	time.Sleep(3 * time.Second) // meanwhile, later rounds confirm the TrainJobs in the record
	writes, fetches, packs := l.writes.Load(), l.server.Requests(), l.server.Packs()
	l.eventually(func(*v1alpha1.TrainJobSource) error {
		if got := l.server.Requests(); got < fetches+2 {
			return fmt.Errorf("the Git server had %d requests, want %d", got, fetches+2)
		}
		return nil
	})
	if got := l.writes.Load(); got != writes {
		t.Errorf("the controller sent %d writes", got-writes)
	}
	if got := l.server.Packs(); got != packs {
		t.Errorf("the controller downloaded an unchanged commit %d times", got-packs)
	}
}

// TestSettledSourceCausesNoRequests: while nothing changes, the controller must send no requests to the API server,
// except watches. If something changes in the cluster, the controller must notice the change before the next fetch.
func TestSettledSourceCausesNoRequests(t *testing.T) {
	l := newLive(t)
	l.push("bert", "numNodes: 2")
	l.object.Spec.Interval = metav1.Duration{Duration: 10 * time.Second}
	l.run(l.options())
	l.create()
	l.wait("True", v1alpha1.ReasonApplied)
	l.waitState("bert", "Running", "bert")
	time.Sleep(3 * time.Second) // meanwhile, later rounds confirm the TrainJob in the record
	requests, fetches := l.reads.Load()+l.writes.Load(), l.server.Requests()
	l.eventually(func(*v1alpha1.TrainJobSource) error {
		if got := l.server.Requests(); got < fetches+2 {
			return fmt.Errorf("the Git server had %d requests, want %d", got, fetches+2)
		}
		return nil
	})
	if got := l.reads.Load() + l.writes.Load(); got != requests {
		t.Errorf("the controller sent %d requests to the API server", got-requests)
	}

	l.change(`{"spec":{"interval":"1h"}}`)
	l.waitObserved()
	l.endRun()
	l.waitState("bert", "Ended", "bert")
	l.change(`{"metadata":{"annotations":{"retry.trainyard.dev/bert":"1"}}}`)
	l.waitRuns("retry", "bert/1 nodes=2", "bert/2 nodes=2")
}

// TestUnreadableFolderHasNoOldProblems commits a file with a mistake, and then a kustomization.yaml that makes the
// whole folder unreadable. After the second commit, the status must no longer list the mistake.
func TestUnreadableFolderHasNoOldProblems(t *testing.T) {
	l := newLive(t)
	l.push("big", "numNodes: 100000")
	l.run(l.options())
	l.create()
	l.wait("False", v1alpha1.ReasonJobsInvalid)
	l.pushFile("kustomization.yaml", "resources: [big.yaml]\nhelmCharts: [{name: a}]\n")
	l.sync()
	l.eventually(func(s *v1alpha1.TrainJobSource) error {
		if !strings.Contains(l.message(), "helmCharts") || len(s.Status.Problems) > 0 || s.Status.Summary.Problems > 0 {
			return fmt.Errorf("the message is %q and the problems are %+v, want a message about helmCharts, and no problems", l.message(), s.Status.Problems)
		}
		return nil
	})
}

// putSecret creates a Secret, and deletes it when the test ends. If the argument "hosts" is empty, the Secret does not
// get the annotation that lists hosts.
func (l *live) putSecret(namespace, name, hosts string, data map[string]string) {
	l.t.Helper()
	secret := &corev1.Secret{StringData: data}
	secret.Namespace, secret.Name = namespace, name
	if hosts != "" {
		secret.Annotations = map[string]string{v1alpha1.HostsAnnotation: hosts}
	}
	if err := l.cp.Client().Create(l.t.Context(), secret); err != nil {
		l.t.Fatal(err)
	}
	l.t.Cleanup(func() {
		if err := l.cp.Client().Delete(context.Background(), secret); err != nil {
			l.t.Error(err)
		}
	})
}

// TestSecrets checks which Secrets the controller reads, and that credentials go only to the hosts that the Secret lists.
func TestSecrets(t *testing.T) {
	l := newLive(t)
	l.server.Password = "correct horse"
	l.push("bert", "numNodes: 2")
	host := strings.TrimSuffix(strings.TrimPrefix(l.server.HTTP(""), "http://"), "/")
	data := map[string]string{"username": "robot", "password": "correct horse"}
	l.putSecret(tenants[1], "of-another-tenant", host, data)
	l.putSecret(tenants[0], "without-hosts", "", data)
	l.putSecret(tenants[0], "other-hosts", "git.example.com", data)
	l.putSecret(tenants[0], "good", host, data)
	l.run(l.options())
	l.object.Spec.SecretRef = &v1alpha1.LocalReference{Name: "missing"}
	l.create()
	for secret, want := range map[string]string{
		"missing":           "Secret missing does not exist",
		"of-another-tenant": "Secret of-another-tenant does not exist",
		"without-hosts":     "does not list the host " + host,
		"other-hosts":       "does not list the host " + host,
	} {
		l.change(fmt.Sprintf(`{"spec":{"secretRef":{"name":%q}}}`, secret))
		l.wait("False", v1alpha1.ReasonFetchFailed)
		if !strings.Contains(l.message(), want) || strings.Contains(l.message(), "correct horse") {
			t.Errorf("%s: the message is %q, want %q", secret, l.message(), want)
		}
		if got := l.condition(v1alpha1.StalledCondition); got != "True FetchFailed" {
			t.Errorf("%s: Stalled is %s", secret, got)
		}
	}
	if len(l.list()) > 0 {
		t.Errorf("TrainJobs %v exist before a fetch", l.list())
	}
	l.change(`{"spec":{"secretRef":{"name":"good"}}}`)
	l.waitRuns("with the right Secret", "bert/1 nodes=2")
}

// TestQueuedJobStartsWithoutGit checks that a waiting job starts when the earlier run ends, although the Git server refuses
// the controller's requests. The status must report that the Git server refuses requests.
func TestQueuedJobStartsWithoutGit(t *testing.T) {
	l := newLive(t)
	l.push("bert", "numNodes: 2")
	l.run(l.options())
	l.create()
	l.waitRuns("create", "bert/1 nodes=2")
	l.push("bert", "numNodes: 3")
	l.sync()
	l.waitState("bert", "Waiting", "bert")
	l.server.Password = "changed"
	l.sync()
	l.wait("False", v1alpha1.ReasonFetchFailed)
	l.endRun()
	l.waitRuns("the Git server refuses", "bert/1 nodes=2", "bert/2 nodes=3")
	l.wait("False", v1alpha1.ReasonFetchFailed)
}

// TestWebhook checks that a webhook request with a valid signature causes a fetch, and that all refused requests
// get the same response.
func TestWebhook(t *testing.T) {
	l := newLive(t)
	l.push("bert", "numNodes: 2")
	secret := "0123456789abcdef0123"
	l.putSecret(tenants[0], "hook", "", map[string]string{"webhook": secret + "\n"}) // the repository needs no credentials
	l.object.Spec.SecretRef = &v1alpha1.LocalReference{Name: "hook"}
	o := l.options()
	o.HookAddress = controlplane.FreeAddress(t)
	l.run(o)
	l.create()
	l.waitRuns("create", "bert/1 nodes=2")
	l.endRun()
	l.push("bert", "numNodes: 3")
	body := `{"ref":"refs/heads/evil","repository":{"clone_url":"https://evil.example.com/x.git"}}`
	mac := hmac.New(sha256.New, []byte(secret))
	mac.Write([]byte(body))
	signature := "sha256=" + hex.EncodeToString(mac.Sum(nil))
	post := func(name, signature string) string {
		t.Helper()
		request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, fmt.Sprintf("http://%s/hook/%s/%s", o.HookAddress, tenants[0], name), strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		request.Header.Set("X-Hub-Signature-256", signature)
		response, err := http.DefaultClient.Do(request)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = response.Body.Close() }()
		return response.Status
	}
	if got := post("jobs", "sha256="+strings.Repeat("00", 32)); got != "403 Forbidden" {
		t.Errorf("a wrong signature: %s", got)
	}
	if got := post("unknown", signature); got != "403 Forbidden" {
		t.Errorf("an unknown TrainJobSource: %s", got)
	}
	if got := post("jobs", signature); got != "202 Accepted" {
		t.Errorf("a valid signature: %s", got)
	}
	l.waitRuns("a webhook causes a fetch", "bert/1 nodes=2", "bert/2 nodes=3")
}

// TestEvents checks that the controller writes events about changes, and no events while nothing changes.
func TestEvents(t *testing.T) {
	l := newLive(t)
	l.object.Name = "events"
	l.push("bert", "numNodes: 2")
	l.run(l.options())
	l.create()
	l.wait("True", v1alpha1.ReasonApplied)
	l.sync()
	var notes []string
	controlplane.Eventually(t, func(ctx context.Context) error {
		var all eventsv1.EventList
		if err := l.cp.Client().List(ctx, &all, client.InNamespace(tenants[0])); err != nil {
			return err
		}
		notes = nil
		for _, e := range all.Items {
			if e.Regarding.UID == l.object.UID {
				notes = append(notes, e.Type+" "+e.Reason+": "+e.Note[:min(len(e.Note), 14)])
			}
		}
		if len(notes) < 2 {
			return fmt.Errorf("the events are %v", notes)
		}
		return nil
	})
	want := map[string]bool{"Normal Applied: created TrainJ": true, "Normal Applied: applied commit": true}
	for _, note := range notes {
		if !want[note] || len(notes) != len(want) {
			t.Errorf("the events are %v", notes)
		}
	}
}

func TestMetricsMatchTheCatalogue(t *testing.T) {
	l := newLive(t)
	l.push("bert", "numNodes: 2")
	o := l.options()
	o.MetricsAddress, o.HealthAddress = controlplane.FreeAddress(t), controlplane.FreeAddress(t)
	l.run(o)
	l.create()
	l.wait("True", v1alpha1.ReasonApplied)
	for _, path := range []string{"/healthz", "/readyz"} {
		if _, err := fetchText(t.Context(), "http://"+o.HealthAddress+path); err != nil {
			t.Error(err)
		}
	}
	g, err := grafanadata.Read("runbooks")
	if err != nil {
		t.Fatal(err)
	}
	found := l.scrape(o.MetricsAddress)
	exported := slices.DeleteFunc(slices.Collect(maps.Keys(found)), func(name string) bool { return !strings.HasPrefix(name, "trainyard_") })
	declared := slices.DeleteFunc(slices.Collect(maps.Keys(g.Metrics)), func(name string) bool {
		return !strings.HasPrefix(name, "trainyard_") || strings.HasPrefix(name, "trainyard_trainjob_")
	})
	if diff := cmp.Diff(sorted(declared), sorted(exported)); diff != "" {
		t.Errorf("metrics: -grafana/ +controller:\n%s", diff)
	}
	for _, name := range declared {
		compareMetric(t, name, g.Metrics[name], found[name])
	}
	l.change(`{"spec":{"suspend":true}}`)
	controlplane.Eventually(t, func(context.Context) error {
		if series := l.scrape(o.MetricsAddress)[metrics.SourceInterval].GetMetric(); len(series) > 0 {
			return fmt.Errorf("the suspended TrainJobSource has an interval: %v", series)
		}
		return nil
	})
}

// TestMissingKind runs all controllers on an API server without the kind JobSet. The error must tell the user to
// install Kubeflow Trainer with JobSet.
func TestMissingKind(t *testing.T) {
	l := newLive(t)
	o := l.options()
	o.Controllers = controller.Names()
	config, _ := l.connection()
	err := controller.Run(t.Context(), config, o)
	if err == nil || !strings.Contains(err.Error(), "install Kubeflow Trainer with JobSet") {
		t.Errorf("error %v, want one that says what to install", err)
	}
}

func (l *live) scrape(address string) map[string]*dto.MetricFamily {
	l.t.Helper()
	text, err := fetchText(l.t.Context(), "http://"+address+"/metrics")
	if err != nil {
		l.t.Fatal(err)
	}
	parser := expfmt.NewTextParser(model.UTF8Validation)
	found, err := parser.TextToMetricFamilies(strings.NewReader(text))
	if err != nil {
		l.t.Fatal(err)
	}
	return found
}

func compareMetric(t *testing.T, name string, want grafanadata.Metric, got *dto.MetricFamily) {
	t.Helper()
	if got == nil || len(got.Metric) == 0 {
		t.Errorf("%s has no series", name)
		return
	}
	if kind := strings.ToLower(got.GetType().String()); kind != want.Type || got.GetHelp() != want.Help {
		t.Errorf("%s: the controller exports a %s with help %q, want a %s with help %q", name, kind, got.GetHelp(), want.Type, want.Help)
	}
	var labels []string
	for _, pair := range got.Metric[0].Label {
		labels = append(labels, pair.GetName())
	}
	if diff := cmp.Diff(sorted(want.Labels), sorted(labels)); diff != "" {
		t.Errorf("%s: labels: -want +got:\n%s", name, diff)
	}
	if want.Type != "histogram" {
		return
	}
	var buckets []float64
	for _, bucket := range got.Metric[0].GetHistogram().Bucket {
		buckets = append(buckets, bucket.GetUpperBound())
	}
	if diff := cmp.Diff(metrics.Buckets(), buckets[:len(buckets)-1]); diff != "" { // the last bucket is infinite
		t.Errorf("%s: buckets: -want +got:\n%s", name, diff)
	}
}

// kubeconfig writes a kubeconfig with the rights of the controller's ServiceAccount.
func (l *live) kubeconfig() string {
	l.t.Helper()
	config, token := l.connection()
	return l.writeKubeconfig(config.Host, config.CAData, token)
}

func (l *live) writeKubeconfig(server string, authority []byte, token string) string {
	l.t.Helper()
	file := filepath.Join(l.t.TempDir(), "kubeconfig")
	if err := kubeconfig.Write(file, server, authority, token); err != nil {
		l.t.Fatal(err)
	}
	return file
}
