package krm

import (
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/trainyard/trainyard/api/v1alpha1"
)

const (
	job = `apiVersion: trainer.kubeflow.org/v1alpha1
kind: TrainJob
metadata: {name: train, namespace: team-a}
spec: {runtimeRef: {name: mpi}, trainer: {numNodes: NODES, image: "quay.io/acme/openmpi:4.1.6"}}
`
	transformer = `apiVersion: trainyard.dev/v1alpha1
kind: Transformer
metadata:
  name: acme
  annotations:
    config.kubernetes.io/function: |
      exec: {path: trainyard-fn}
spec:
  labels: {acme.example/team: ml}
  images:
    digests: {"quay.io/acme/openmpi:4.1.6": "sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"}
  argocd: true
`
	head = "apiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\n"
)

// useCase is one way to use the KRM function.
type useCase struct {
	files map[string]string
	want  func(t *testing.T, w workspace) map[string]any
}

// useCases returns the tested use cases. In each use case, the file kustomization.yaml contains the text of the
// constant requireRun. With this text, the build fails if kustomize does not run the function trainyard-fn.
func useCases() map[string]useCase {
	return map[string]useCase{
		"generator": {
			map[string]string{"platform.yaml": named("generate"), "kustomization.yaml": kustomization},
			func(t *testing.T, w workspace) map[string]any { return w.generateObjects(t, "platform.yaml") },
		},
		"transformer": {
			map[string]string{
				"job.yaml": job4, "change.yaml": transformer,
				"kustomization.yaml": head + "resources: [job.yaml]\ngenerators: [change.yaml]\ntransformers: [change.yaml]\n" + requireRun,
			},
			func(t *testing.T, _ workspace) map[string]any {
				return objectsByName(t, []byte(strings.NewReplacer(":4.1.6", "@sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef",
					"namespace: team-a", "namespace: team-a, labels: {acme.example/team: ml}").Replace(job4)))
			},
		},
		"validator": {
			map[string]string{
				"job.yaml": job4, "platform.yaml": named("validate"),
				"kustomization.yaml": head + "resources: [job.yaml]\ngenerators: [platform.yaml]\nvalidators: [platform.yaml]\n" + requireRun,
			},
			func(t *testing.T, _ workspace) map[string]any { return objectsByName(t, []byte(job4)) },
		},
		"all together": {
			map[string]string{
				"job.yaml": job4, "platform.yaml": named("generate"), "check.yaml": named("validate"),
				"change.yaml": strings.Replace(transformer, `  images:
    digests: {"quay.io/acme/openmpi:4.1.6": "sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"}
`, "", 1),
				"kustomization.yaml": head + "resources: [job.yaml]\ngenerators: [platform.yaml]\ntransformers: [change.yaml]\nvalidators: [check.yaml]\n" + requireRun,
			},
			func(t *testing.T, w workspace) map[string]any {
				w.write(t, "delivered.yaml", strings.Replace(named("generate"), "spec:\n", "spec:\n  target: {argocd: \"3.1\"}\n", 1))
				want := w.generateObjects(t, "../delivered.yaml")
				maps.Copy(want, objectsByName(t, []byte(job4)))
				for _, o := range want {
					metadata := o.(map[string]any)["metadata"].(map[string]any)
					labels, _ := metadata["labels"].(map[string]any)
					if labels == nil {
						labels = map[string]any{}
						metadata["labels"] = labels
					}
					if labels[v1alpha1.KeepLabel] == nil {
						labels["acme.example/team"] = "ml"
					}
				}
				return want
			},
		},
	}
}

func named(function string) string { return strings.Replace(platformDocument, "FUNCTION", function, 1) }

func (w workspace) generateObjects(t *testing.T, file string) map[string]any {
	t.Helper()
	return objectsByName(t, w.run(t, w.trainyard, "generate", "-f", filepath.Join(w.dir, "base", file), "--env", "prod"))
}

// TestUseCases builds each use case directly, and as the base of an overlay. Without the flags that permit KRM
// functions, `kustomize build` must fail.
func TestUseCases(t *testing.T) {
	all := useCases()
	programs := newWorkspace(t)
	for _, name := range slices.Sorted(maps.Keys(all)) {
		t.Run(name, func(t *testing.T) {
			w := programs.emptyWorkspace(t)
			for file, text := range all[name].files {
				w.write(t, "base/"+file, text)
			}
			w.write(t, "overlay/kustomization.yaml", head+"resources: [../base]\n")
			want := all[name].want(t, w)
			for _, folder := range []string{"base", "overlay"} {
				out, err := w.runBuild(t, folder, allowed...)
				if err != nil {
					t.Fatal(err)
				}
				if diff := cmp.Diff(want, objectsByName(t, out)); diff != "" {
					t.Errorf("%s: -want +kustomize:\n%s", folder, diff)
				}
				for how, flags := range map[string][]string{"without exec": noExec, "without alpha": nil} {
					if out, err := w.runBuild(t, folder, flags...); err == nil {
						t.Errorf("%s %s: kustomize returns no error and %d bytes", folder, how, len(out))
					}
				}
			}
		})
	}
}

var job4 = strings.Replace(job, "NODES", "4", 1)

func newQuota(spec, manager string) string {
	return "apiVersion: v1\nkind: ResourceQuota\nmetadata: {name: team, labels: {app.kubernetes.io/managed-by: " + manager + "}}\nspec: " + spec + "\n"
}

// TestValidatorAcceptsUnknownFields: the validator must accept objects that trainyard has not
// generated, even if their kinds or fields are unknown. A newer cluster may support such kinds and
// fields.
func TestValidatorAcceptsUnknownFields(t *testing.T) {
	w := newWorkspace(t)
	files := useCases()["validator"].files
	files["job.yaml"] = newQuota("{hardd: {pods: 4}}", "me") + "---\napiVersion: example.com/v1\nkind: Unknown\nmetadata: {name: a}\nspec: 3\n"
	for file, text := range files {
		w.write(t, "base/"+file, text)
	}
	out, err := w.runBuild(t, "base", allowed...)
	if err != nil {
		t.Fatal(err)
	}
	if got := objectsByName(t, out); len(got) != 2 {
		t.Errorf("kustomize writes %v", slices.Sorted(maps.Keys(got)))
	}
}

// TestErrors: if a KRM function fails, it writes its error to standard error, and kustomize writes no
// objects.
func TestErrors(t *testing.T) {
	all := useCases()
	w := newWorkspace(t)
	for name, tc := range map[string]struct{ useCase, file, old, new, want string }{
		"too many nodes":    {"validator", "job.yaml", "numNodes: 4", "numNodes: 5", "error: TrainJob train: spec.trainer.numNodes: node-limit: want 1 to 4"},
		"an unknown team":   {"validator", "job.yaml", "team-a", "team-b", `error: TrainJob train: metadata.namespace: wrong-namespace: namespace "team-b" has no rules for TrainJobs in environment prod: did you mean "team-a"?`},
		"a written quota":   {"validator", "job.yaml", job4, newQuota("{hard: [4]}", "me"), "error: ResourceQuota team: spec.hard: wrong type for this field of ResourceQuota: got a list"},
		"a generated quota": {"validator", "job.yaml", job4, newQuota("{hardd: {pods: 4}}", "trainyard"), "error: ResourceQuota team: spec.hardd: unknown field"},
		"an unknown field":  {"transformer", "change.yaml", "labels:", "label:", `error: Transformer acme: spec.label: unknown key: did you mean "labels"?`},
		"another tag":       {"transformer", "job.yaml", ":4.1.6", ":4.1.7", "error: TrainJob train: spec.trainer.image: image quay.io/acme/openmpi:4.1.7 has no digest: for this repository, spec.images.digests of the Transformer contains only quay.io/acme/openmpi:4.1.6; add this image with its digest"},
		"an unknown kind":   {"transformer", "change.yaml", "kind: Transformer", "kind: Transform", `want a functionConfig of the kind Platform or Transformer, got "Transform": did you mean "Transformer"?`},
		"a kind of another function": {
			"transformer", "change.yaml", "  annotations:\n", "  annotations:\n    trainyard.dev/function: validate\n",
			"validate wants a functionConfig of the kind Platform, got the kind Transformer",
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := w.emptyWorkspace(t)
			for file, text := range all[tc.useCase].files {
				if file == tc.file {
					text = strings.ReplaceAll(text, tc.old, tc.new)
				}
				w.write(t, "base/"+file, text)
			}
			out, err := w.runBuild(t, "base", allowed...)
			if err == nil || len(out) > 0 || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("kustomize writes %d bytes and returns %v, want nothing and %q", len(out), err, tc.want)
			}
		})
	}
}

// TestMisplacedValidator: if the field "transformers" lists a validator by mistake, kustomize prints only the
// validator's output, without the user's objects. The validator's output must be an object that every cluster
// refuses, so that nobody can apply the output.
func TestMisplacedValidator(t *testing.T) {
	w := newWorkspace(t)
	for file, text := range useCases()["validator"].files {
		w.write(t, "base/"+file, strings.Replace(text, "validators:", "transformers:", 1))
	}
	out, err := w.runBuild(t, "base", allowed...)
	if err != nil {
		t.Fatal(err)
	}
	if got := slices.Collect(maps.Keys(objectsByName(t, out))); len(got) != 1 || got[0] != "MisplacedValidator /acme" {
		t.Errorf("kustomize writes %v", got)
	}
}
