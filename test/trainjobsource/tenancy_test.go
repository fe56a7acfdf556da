package trainjobsource

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	trainer "github.com/kubeflow/trainer/v2/pkg/apis/trainer/v1alpha1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trainyard/trainyard/api/v1alpha1"
	"github.com/trainyard/trainyard/test/controlplane"
)

func (l *live) asEditor() client.Client {
	l.t.Helper()
	config := l.cp.Config()
	config.Impersonate = rest.ImpersonationConfig{UserName: "eve"}
	c, err := client.New(config, client.Options{Scheme: l.cp.Client().Scheme(), Mapper: l.cp.Client().RESTMapper()})
	if err != nil {
		l.t.Fatal(err)
	}
	return c
}

func jobText(name, metadata string) string {
	return fmt.Sprintf("apiVersion: trainer.kubeflow.org/v1alpha1\nkind: TrainJob\nmetadata: {name: %s%s}\nspec: {runtimeRef: {name: mpi}, trainer: {numNodes: 1}}\n", name, metadata)
}

// The variable "escapes" contains test cases. Each key is the name of a folder in Git, and the field "files" contains
// the files in this folder. The files come from a user who has the rights of an editor of a tenant. With these files,
// the user tries to get access to more than the tenant's namespace.
var escapes = map[string]struct {
	files map[string]string
	want  string
}{
	"namespace-in-file":   {map[string]string{"a.yaml": jobText("a", ", namespace: team-b")}, "a.yaml:1: metadata.namespace: want the namespace team-a"},
	"namespace-field":     {map[string]string{"kustomization.yaml": "resources: [a.yaml]\nnamespace: team-b", "a.yaml": jobText("a", "")}, "a.yaml:1: metadata.namespace: want the namespace team-a"},
	"patched-namespace":   {map[string]string{"kustomization.yaml": "resources: [a.yaml]\npatches: [{target: {kind: TrainJob}, patch: '- {op: add, path: /metadata/namespace, value: team-b}'}]", "a.yaml": jobText("a", "")}, "kustomization.yaml:2: patch:1: a JSON patch may change only spec, status, metadata.labels and metadata.annotations, not \"/metadata/namespace\""},
	"patched-kind":        {map[string]string{"kustomization.yaml": "resources: [a.yaml]\npatches: [{target: {kind: TrainJob}, patch: '- {op: replace, path: /kind, value: ClusterTrainingRuntime}', options: {allowKindChange: true}}]", "a.yaml": jobText("a", "")}, "kustomization.yaml:2: the field \"options\" is not allowed in a patch"},
	"changed-kind":        {map[string]string{"kustomization.yaml": "resources: [a.yaml]\npatches: [{target: {kind: TrainJob}, patch: '- {op: replace, path: /kind, value: ClusterTrainingRuntime}'}]", "a.yaml": jobText("a", "")}, "kustomization.yaml:2: patch:1: a JSON patch may change only spec, status, metadata.labels and metadata.annotations, not \"/kind\""},
	"another-kind":        {map[string]string{"a.yaml": "apiVersion: v1\nkind: Pod\nmetadata: {name: a}\n"}, "a.yaml:1: an object with apiVersion v1 and kind Pod is not allowed"},
	"owner":               {map[string]string{"a.yaml": jobText("a", ", ownerReferences: []")}, "a.yaml:1: metadata.ownerReferences is not allowed"},
	"remote-base":         {map[string]string{"kustomization.yaml": "resources: [\"https://git.example.com/x//y?ref=v1\"]"}, "kustomization.yaml:1: \"https://git.example.com/x//y?ref=v1\": want the path"},
	"tagged-base":         {map[string]string{"kustomization.yaml": "resources: [!!binary aHR0cHM6Ly9naXQuZXhhbXBsZS5jb20veC8veQ==]"}, "kustomization.yaml:1: the tag !!binary is not allowed"},
	"file-outside":        {map[string]string{"kustomization.yaml": "resources: [../../etc/passwd]"}, "kustomization.yaml:1: \"../../etc/passwd\" leads out of the repository"},
	"program":             {map[string]string{"kustomization.yaml": "generators: [a.yaml]", "a.yaml": "a: b"}, "kustomization.yaml:1: the field \"generators\" is not allowed"},
	"container":           {map[string]string{"kustomization.yaml": "transformers: [a.yaml]", "a.yaml": "a: b"}, "kustomization.yaml:1: the field \"transformers\" is not allowed"},
	"chart":               {map[string]string{"kustomization.yaml": "helmCharts: [{name: a}]"}, "kustomization.yaml:1: the field \"helmCharts\" is not allowed"},
	"files-of-controller": {map[string]string{"kustomization.yaml": "configMapGenerator: [{name: a, files: [/var/run/secrets/token]}]"}, "kustomization.yaml:1: the field \"configMapGenerator\" is not allowed"},
}

// TestA19EditorsStayInTheirNamespace: an editor of a tenant creates a TrainJobSource for each folder in
// "escapes". The status of each TrainJobSource must name the file with the forbidden content, and no TrainJob
// may exist in the namespaces of the tenants. The editor must not be able to create a TrainJobSource in another
// namespace.
func TestA19EditorsStayInTheirNamespace(t *testing.T) {
	l := newLive(t)
	files := map[string]string{}
	for name, escape := range escapes {
		for file, text := range escape.files {
			files[name+"/"+file] = text
		}
	}
	l.pushFiles(files)
	editor := l.asEditor()
	for _, namespace := range []string{tenants[1], v1alpha1.SystemNamespace} {
		source := l.newSource("jobs")
		source.Namespace = namespace
		if err := editor.Create(t.Context(), source); !apierrors.IsForbidden(err) {
			t.Errorf("an editor creates a TrainJobSource in %s: %v, want it forbidden", namespace, err)
		}
	}
	for name := range escapes {
		source := l.newSource(name)
		source.Spec.Path = name
		if err := editor.Create(t.Context(), source); err != nil {
			t.Fatal(err)
		}
	}
	l.run(l.options())
	for name, escape := range escapes {
		l.object = l.newSource(name)
		l.wait("False", v1alpha1.ReasonJobsInvalid)
		if got := strings.ReplaceAll(l.message(), name+"/", ""); !strings.Contains(got, escape.want) {
			t.Errorf("%s: the message is %q, want %q", name, l.message(), escape.want)
		}
	}
	for _, namespace := range tenants {
		var all trainer.TrainJobList
		if err := l.cp.Client().List(t.Context(), &all, client.InNamespace(namespace)); err != nil {
			t.Fatal(err)
		}
		if len(all.Items) > 0 {
			t.Errorf("namespace %s has %d TrainJobs, want none", namespace, len(all.Items))
		}
	}
}

// TestOtherAccounts checks that a TrainJobSource cannot use another ServiceAccount of its tenant, and cannot use a
// ServiceAccount in a namespace without a tenant. The controller must not read Secrets in a namespace without a tenant.
func TestOtherAccounts(t *testing.T) {
	l := newLive(t)
	l.push("bert", "numNodes: 2")
	l.run(l.options())
	l.object.Spec.ServiceAccountName = "default"
	if err := l.asEditor().Create(t.Context(), l.object); err != nil {
		t.Fatal(err)
	}
	outside := l.newSource("jobs")
	outside.Namespace = l.cp.Namespace(t)
	if err := l.cp.Client().Create(t.Context(), outside); err != nil {
		t.Fatal(err)
	}
	for _, source := range []*v1alpha1.TrainJobSource{l.object, outside} {
		l.object = source
		l.wait("False", v1alpha1.ReasonApplyFailed)
		if got := l.message(); !strings.Contains(got, "cannot impersonate resource \"serviceaccounts\"") || !strings.Contains(got, source.Spec.ServiceAccountName) {
			t.Errorf("the message is %q, want it to say that the impersonation is refused", got)
		}
	}
	l.change(`{"spec":{"secretRef":{"name":"some"}}}`)
	l.wait("False", v1alpha1.ReasonFetchFailed)
	if want := "the controller is not allowed to read Secret some"; !strings.Contains(l.message(), want) {
		t.Errorf("the message is %q, want %q", l.message(), want)
	}
}

// TestImitatedLabels checks two TrainJobs that imitate runs of the TrainJobSource "two". The first TrainJob, "bert", is
// a job of the TrainJobSource "one". Its file in Git has labels and annotations like the runs of "two", but the
// controller must set the labels of "one". The second TrainJob, "copy", is a user's copy of a run of "two", with the
// same labels and annotations. The TrainJobs "bert" and "copy" must stay when the controller deletes the runs of "two".
func TestImitatedLabels(t *testing.T) {
	l := newLive(t)
	l.pushFiles(map[string]string{
		"one/bert.yaml": jobText("bert", `, labels: {trainyard.dev/source: two, trainyard.dev/job: gpt}, annotations: {trainyard.dev/version: '{"name":"bert","generation":7,"spec":"x"}'}`),
		"two/gpt.yaml":  jobText("gpt", ""),
	})
	l.run(l.options())
	for _, name := range []string{"one", "two"} {
		l.object = l.newSource(name)
		l.object.Spec.Path, l.object.Spec.Prune = name, v1alpha1.PruneAlways
		l.create()
		l.wait("True", v1alpha1.ReasonApplied)
	}
	for name, owner := range map[string]string{"bert": "one", "gpt": "two"} {
		if got := l.list()[name].Labels; got[v1alpha1.Group+"/source"] != owner || got[v1alpha1.Group+"/job"] != name {
			t.Errorf("the labels of %s are %v, want those of %s", name, got, owner)
		}
	}
	run := l.list()["gpt"]
	copied := run.DeepCopy()
	copied.ObjectMeta = metav1.ObjectMeta{Namespace: tenants[0], Name: "copy", Labels: run.Labels, Annotations: run.Annotations}
	if err := l.asEditor().Create(t.Context(), copied); err != nil {
		t.Fatal(err)
	}
	l.pushFiles(map[string]string{"two/gpt.yaml": "", "two/other.yaml": jobText("other", "")})
	l.sync()
	l.wait("True", v1alpha1.ReasonApplied)
	l.expectNames("after the job was removed", "bert", "copy", "other")
	if err := l.cp.Client().Delete(t.Context(), l.object); err != nil {
		t.Fatal(err)
	}
	l.waitGone()
	l.expectNames("after the TrainJobSource was deleted", "bert", "copy")
}

func (l *live) expectNames(step string, want ...string) {
	l.t.Helper()
	controlplane.Eventually(l.t, func(context.Context) error {
		l.completeDeletions()
		names := slices.Sorted(maps.Keys(l.list()))
		if strings.Join(names, " ") != strings.Join(want, " ") {
			return fmt.Errorf("%s: the TrainJobs are %v, want %v", step, names, want)
		}
		return nil
	})
}

// TestA26StatusIsBounded checks that the status stays smaller than 200 KiB. The TrainJobSource in this test has as many
// jobs as the controller allows, and twice as many problems as jobs. The messages are as long as possible.
func TestA26StatusIsBounded(t *testing.T) {
	l := newLive(t)
	const jobs = 1000
	long := strings.Repeat("<\U0001F682", 2000)
	files := map[string]string{}
	for i := range jobs {
		name := fmt.Sprintf("job-%04d-%s", i, strings.Repeat("x", 54))
		denied := fmt.Sprintf("  labels:\n    ? %q\n    : x\n", long)
		files[fmt.Sprintf("%d.yaml", i)] = fmt.Sprintf("apiVersion: trainer.kubeflow.org/v1alpha1\nkind: TrainJob\nmetadata: {name: %s}\nspec:\n  runtimeRef: {name: mpi}\n  trainer: {numNodes: 1}\n%s---\napiVersion: v1\nkind: %q\n", name, denied, long)
	}
	l.pushFiles(files)
	l.object.Spec.DryRun = true
	l.run(l.options())
	l.create()
	l.wait("False", v1alpha1.ReasonJobsInvalid)
	status := l.object.Status
	if status.Summary.Jobs != jobs || status.Summary.Problems != 2*jobs || len(status.Jobs) != 100 || len(status.Problems) != 20 {
		t.Errorf("the summary is %+v, with %d jobs and %d problems in the lists", status.Summary, len(status.Jobs), len(status.Problems))
	}
	text, err := json.Marshal(status)
	if err != nil {
		t.Fatal(err)
	}
	if len(text) >= 200<<10 || len(text) < 100<<10 {
		t.Errorf("the status has %d bytes, want less than 200 KiB, and messages of the greatest length", len(text))
	}
}
