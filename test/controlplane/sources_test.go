package controlplane_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/trainyard/trainyard"
	"github.com/trainyard/trainyard/api/v1alpha1"
	"github.com/trainyard/trainyard/generator"
	"github.com/trainyard/trainyard/generator/problem"
	"github.com/trainyard/trainyard/test/build"
	"github.com/trainyard/trainyard/test/controlplane"
)

// sourceFields contains entries for the document's field "sources", and states for each entry whether it is valid.
// A field has the same limits in the document and in the CRD. For each limit, one entry reaches the limit, and
// another entry exceeds it.
var sourceFields = map[string]struct {
	entry string
	valid bool
}{
	"only a url":             {"", true},
	"all fields":             {"ref: {branch: main}, path: jobs/a, interval: 1h30m, timeout: 30s, secret: git, serviceAccount: trainyard-jobs, verify: {secret: keys, linearHistory: true}, suspend: true, onChange: Replace, prune: Always, historyLimits: {succeeded: 0, failed: 100}, dryRun: true", true},
	"http":                   {"url: http://git.acme.example/jobs.git", true},
	"ssh with a port":        {"url: ssh://git@git.acme.example:2222/jobs.git", true},
	"an IPv6 address":        {`url: "https://[2001:db8::1]/jobs.git"`, true},
	"a password":             {"url: https://eve:secret@git.acme.example/jobs.git", false},
	"ssh without a scheme":   {"url: git@git.acme.example:jobs.git", false},
	"a registry":             {"url: oci://git.acme.example/jobs", false},
	"no repository":          {"url: https://git.acme.example/", false},
	"the longest url":        {"url: https://git.acme.example/" + strings.Repeat("a", 2048-len("https://git.acme.example/")), true},
	"a longer url":           {"url: https://git.acme.example/" + strings.Repeat("a", 2049-len("https://git.acme.example/")), false},
	"no reference":           {"ref: {}", false},
	"two references":         {"ref: {branch: a, tag: b}", false},
	"the longest branch":     {"ref: {branch: " + strings.Repeat("a", 255) + "}", true},
	"a longer branch":        {"ref: {branch: " + strings.Repeat("a", 256) + "}", false},
	"a branch with folders":  {"ref: {branch: release/1.2+x@y_z-0}", true},
	"a branch with ..":       {"ref: {branch: a..b}", false},
	"a branch with //":       {"ref: {branch: a//b}", false},
	"a branch ending in /":   {"ref: {branch: a/}", false},
	"a locked branch":        {"ref: {branch: a.lock}", false},
	"a branch like a flag":   {"ref: {branch: --force}", false},
	"a tag":                  {"ref: {tag: v1.2.0}", true},
	"a tag with a space":     {"ref: {tag: a b}", false},
	"a range":                {`ref: {semver: ">=1.2.0 <2.0.0"}`, true},
	"an empty range":         {`ref: {semver: ""}`, false},
	"the longest range":      {"ref: {semver: " + strings.Repeat("x", 128) + "}", true},
	"a longer range":         {"ref: {semver: " + strings.Repeat("x", 129) + "}", false},
	"a commit":               {"ref: {commit: " + strings.Repeat("a", 40) + "}", true},
	"a short commit":         {"ref: {commit: " + strings.Repeat("a", 39) + "}", false},
	"the whole repository":   {"path: .", true},
	"an absolute path":       {"path: /a", false},
	"an empty path":          {`path: ""`, false},
	"a path with ..":         {"path: a/../b", false},
	"a path that begins ..":  {"path: ../b", false},
	"a path that ends in ..": {"path: a/..", false},
	"a path with dots":       {"path: a..b/...", true},
	"the longest path":       {"path: " + strings.Repeat("a", 1024), true},
	"a longer path":          {"path: " + strings.Repeat("a", 1025), false},
	"the shortest interval":  {"interval: 10s", true},
	"a shorter interval":     {"interval: 9s", false},
	"the longest interval":   {"interval: 23h59m60s", true},
	"a longer interval":      {"interval: 24h0m1s", false},
	"an empty interval":      {`interval: ""`, false},
	"milliseconds":           {"interval: 90000ms", false},
	"the shortest timeout":   {"timeout: 1s", true},
	"a shorter timeout":      {"timeout: 0s", false},
	"the longest timeout":    {"timeout: 10m", true},
	"a longer timeout":       {"timeout: 10m1s", false},
	"a Secret in a folder":   {"secret: a/b", false},
	"the longest account":    {"serviceAccount: " + strings.Repeat("a", 63), true},
	"a longer account":       {"serviceAccount: " + strings.Repeat("a", 64), false},
	"no conditions":          {"verify: {}", false},
	"other keys":             {"verify: {secret: B}", false},
	"another policy":         {"onChange: Restart", false},
	"another pruning":        {"prune: Sometimes", false},
	"a negative limit":       {"historyLimits: {failed: -1}", false},
	"a high limit":           {"historyLimits: {succeeded: 101}", false},
}

// TestSourcesHaveTheLimitsOfTheCRD checks that the generator and the API server refuse the same values. If the
// generator accepted a value that the API server refuses, users would notice the mistake only when they apply the
// bundle.
func TestSourcesHaveTheLimitsOfTheCRD(t *testing.T) {
	cp := controlplane.Start(t)
	namespace := cp.Namespace(t)
	for name, tc := range sourceFields {
		t.Run(name, func(t *testing.T) {
			if !strings.Contains(tc.entry, "url: ") {
				tc.entry = "url: https://git.acme.example/jobs.git, " + tc.entry
			}
			generated, err := generateSource(t, namespace, tc.entry)
			if valid := err == nil; valid != tc.valid {
				t.Errorf("the document is valid: %t, want %t: %v", valid, tc.valid, err)
			}
			if generated == nil {
				generated = newSource(t, namespace, tc.entry)
			}
			err = cp.Client().Create(t.Context(), generated, client.DryRunAll, client.FieldValidation(metav1.FieldValidationStrict))
			if valid := err == nil; valid != tc.valid {
				t.Errorf("the API server accepts it: %t, want %t: %v", valid, tc.valid, err)
			}
		})
	}
}

func generateSource(t *testing.T, namespace, entry string) (client.Object, error) {
	t.Helper()
	platforms, err := generator.New(trainyard.CUE).Generate(t.Context(), generator.Request{Layers: []generator.Input{{Name: "platform.yaml", Text: fmt.Appendf(nil, `
apiVersion: trainyard.dev/v1alpha1
kind: Platform
metadata: {name: acme}
spec:
  controller: {enabled: true}
  runtimes: {mpi: {from: openmpi-cpu, image: "quay.io/acme/openmpi:4.1"}}
  tenants: {%s: {sources: {jobs: {%s}}}}
`, namespace, entry)}}})
	var problems problem.List
	if errors.As(err, &problems) {
		return nil, err
	}
	if err != nil {
		t.Fatal(err)
	}
	for o := range platforms[0].Objects.All() {
		if o.ID().Kind == v1alpha1.TrainJobSourceKind {
			return &unstructured.Unstructured{Object: o.Fields()}, nil
		}
	}
	t.Fatal("no TrainJobSource was generated")
	return nil, nil
}

// newSource converts an entry of the field "sources" to a TrainJobSource. It does not use the generator, which would
// refuse an invalid entry.
func newSource(t *testing.T, namespace, entry string) client.Object {
	t.Helper()
	source := &unstructured.Unstructured{Object: map[string]any{}}
	var spec map[string]any
	if err := yaml.Unmarshal([]byte("{"+entry+"}"), &spec); err != nil {
		t.Fatal(err)
	}
	renameSecret(spec)
	if verify, ok := spec["verify"].(map[string]any); ok {
		renameSecret(verify)
	}
	if account, ok := spec["serviceAccount"]; ok {
		spec["serviceAccountName"] = account
		delete(spec, "serviceAccount")
	}
	source.Object["spec"] = spec
	source.SetGroupVersionKind(v1alpha1.GroupVersion.WithKind(v1alpha1.TrainJobSourceKind))
	source.SetNamespace(namespace)
	source.SetName("jobs")
	return source
}

// renameSecret replaces the field "secret" of the document by the field "secretRef" of a TrainJobSource.
func renameSecret(settings map[string]any) {
	if secret, ok := settings["secret"]; ok {
		settings["secretRef"] = map[string]any{"name": secret}
		delete(settings, "secret")
	}
}

// TestUsersManageTrainJobSources checks which requests for TrainJobSources the users of a tenant may send. An editor
// can name any ServiceAccount in a TrainJobSource. This gives the editor no additional rights, because the controller
// can impersonate only trainyard-jobs.
func TestUsersManageTrainJobSources(t *testing.T) {
	cp := controlplane.Start(t)
	applyAcme(t, cp)
	source := func(namespace, entry string) client.Object {
		return newSource(t, namespace, "url: https://git.acme.example/jobs.git"+entry)
	}
	live := source("team-vision", ", serviceAccount: pipeline")
	editor, viewer := clientAs(t, cp, "eve", "vision"), clientAs(t, cp, "ann", "audit")
	if err := editor.Create(t.Context(), live); err != nil {
		t.Fatalf("creating a TrainJobSource as an editor: %v", err)
	}
	for name, tc := range map[string]struct {
		as      client.Client
		request request
		allowed bool
	}{
		"an editor reads it":                        {editor, reading(live), true},
		"an editor changes it":                      {editor, updating(live), true},
		"an editor writes its status":               {editor, updatingStatus(live), false},
		"an editor creates one for another tenant":  {editor, creating(source("team-speech", "")), false},
		"an editor creates one beside the records":  {editor, creating(source(v1alpha1.SystemNamespace, "")), false},
		"a viewer reads it":                         {viewer, reading(live), true},
		"a viewer creates one":                      {viewer, creating(source("team-physics", "")), false},
		"a viewer deletes it":                       {viewer, deleting(live), false},
		"an editor of another tenant reads it":      {clientAs(t, cp, "sam", "speech"), reading(live), false},
		"trainyard-jobs changes the TrainJobSource": {clientAs(t, cp, jobsAccount), updating(live), false},
	} {
		t.Run(name, func(t *testing.T) { expectAccess(t, tc.request(t.Context(), tc.as), tc.allowed) })
	}
	token := requestToken(t, cp, client.ObjectKey{Namespace: v1alpha1.SystemNamespace, Name: "trainyard-controller"})
	named := as("system:serviceaccount:team-vision:pipeline")
	if err := creating(build.MakeTrainJob("a", "team-vision").Obj())(t.Context(), impersonatingClient(t, cp, token, named)); !apierrors.IsForbidden(err) || !strings.Contains(err.Error(), "impersonate") {
		t.Errorf("the controller impersonates the ServiceAccount of the TrainJobSource: %v, want the API server to forbid this", err)
	}
	controller := impersonatingClient(t, cp, token, rest.ImpersonationConfig{})
	expectAccess(t, updatingStatus(live)(t.Context(), controller), true)
	expectAccess(t, updating(live)(t.Context(), controller), true)
	expectAccess(t, deleting(live)(t.Context(), controller), false)
	if err := editor.Delete(t.Context(), live); err != nil {
		t.Errorf("deleting the TrainJobSource as an editor: %v", err)
	}
}

func updatingStatus(obj client.Object) request {
	return func(ctx context.Context, c client.Client) error {
		return c.Status().Update(ctx, copyOf(obj), client.DryRunAll)
	}
}
