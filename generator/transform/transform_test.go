package transform_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/trainyard/trainyard"
	"github.com/trainyard/trainyard/generator"
	"github.com/trainyard/trainyard/generator/problem"
	"github.com/trainyard/trainyard/generator/transform"
)

const digest = "sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

func changes(t *testing.T, spec string) transform.Changes {
	t.Helper()
	document := "apiVersion: trainyard.dev/v1alpha1\nkind: Transformer\nmetadata: {name: a}\nspec: " + strings.ReplaceAll(spec, "DIGEST", digest) + "\n"
	var c transform.Changes
	if err := generator.New(trainyard.CUE).Changes(t.Context(), generator.Input{Name: "a.yaml", Text: []byte(document)}, &c); err != nil {
		t.Fatal(err)
	}
	return c
}

// apply calls Changes.Apply twice. The second call must not change the object.
func apply(t *testing.T, c transform.Changes, object string) (changed string, messages []string) {
	t.Helper()
	apply := func(text string) (string, []transform.Problem, problem.List) {
		node, err := yaml.Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		wrong, notes := c.Apply([]*yaml.RNode{node})
		return node.MustString(), wrong, notes
	}
	changed, wrong, notes := apply(object)
	for _, p := range wrong {
		messages = append(messages, p.Path+": "+p.Message)
	}
	for _, n := range notes {
		messages = append(messages, n.Path+": "+n.Message)
	}
	if again, _, _ := apply(changed); again != changed {
		t.Errorf("want no change when Apply runs a second time, got a change from\n%sto\n%s", changed, again)
	}
	return changed, messages
}

func TestApply(t *testing.T) {
	for name, tc := range map[string]struct{ spec, object, want string }{
		"other text stays as it is written": {
			`{labels: {a: b}}`,
			"# a comment\nkind: X # a kind\nspec: {z: 1, a: 0x10}\nmetadata:\n  labels: {a: b} # and labels\n",
			"# a comment\nkind: X # a kind\nspec: {z: 1, a: 0x10}\nmetadata:\n  labels: {a: b} # and labels\n",
		},
		"labels are added and changed": {
			`{platform: acme, labels: {a.example/b: "42", c: d, "on": "yes"}}`,
			"kind: X\nmetadata:\n  labels:\n    e: f\n    c: g # here\n",
			"kind: X\nmetadata:\n  labels:\n    e: f\n    c: d # here\n    a.example/b: \"42\"\n    \"on\": \"yes\"\n    trainyard.dev/platform: acme\n",
		},
		"an object without metadata gets metadata": {
			`{labels: {a: b}}`, "kind: X\nmetadata:\n", "kind: X\nmetadata:\n  labels:\n    a: b\n",
		},
		"a shared object gets no labels": {
			`{platform: acme, labels: {a: b}}`,
			"kind: X\nmetadata:\n  labels:\n    trainyard.dev/keep: \"true\"\n",
			"kind: X\nmetadata:\n  labels:\n    trainyard.dev/keep: \"true\"\n",
		},
		"the platform label is not overwritten": {
			`{platform: acme}`, "metadata: {labels: {trainyard.dev/platform: other}}\n", "metadata: {labels: {trainyard.dev/platform: other}}\n",
		},
		"metadata that is no mapping": {`{labels: {a: b}}`, "kind: X\nmetadata: text\n", "kind: X\nmetadata: text\n"},
		"a sync wave by kind": {
			`{argocd: true}`,
			"apiVersion: trainer.kubeflow.org/v1alpha1\nkind: TrainingRuntime\nmetadata: {name: a}\n",
			"apiVersion: trainer.kubeflow.org/v1alpha1\nkind: TrainingRuntime\nmetadata: {name: a, annotations: {argocd.argoproj.io/sync-options: 'Prune=confirm,PruneLast=true,SkipDryRunOnMissingResource=true', argocd.argoproj.io/sync-wave: \"0\"}}\n",
		},
		"a sync wave is not overwritten": {
			`{argocd: true}`,
			"apiVersion: v1\nkind: ConfigMap\nmetadata:\n  annotations:\n    argocd.argoproj.io/sync-wave: \"7\"\n",
			"apiVersion: v1\nkind: ConfigMap\nmetadata:\n  annotations:\n    argocd.argoproj.io/sync-wave: \"7\"\n    argocd.argoproj.io/sync-options: PruneLast=true\n",
		},
		"a kind of another group":       {`{argocd: true}`, "apiVersion: example.com/v1\nkind: ConfigMap\n", "apiVersion: example.com/v1\nkind: ConfigMap\n"},
		"argocd: false changes nothing": {`{argocd: false}`, "apiVersion: v1\nkind: ConfigMap\n", "apiVersion: v1\nkind: ConfigMap\n"},
		"images of a TrainJob and of its containers": {
			`{images: {digests: {"quay.io/a/b:1": "DIGEST"}}}`,
			"apiVersion: trainer.kubeflow.org/v1alpha1\nkind: TrainJob\nspec:\n  trainer: {image: \"quay.io/a/b:1\"}\n  x: [{containers: [{image: \"quay.io/a/b:1\"}]}]\n",
			"apiVersion: trainer.kubeflow.org/v1alpha1\nkind: TrainJob\nspec:\n  trainer: {image: \"quay.io/a/b@" + digest + "\"}\n  x: [{containers: [{image: \"quay.io/a/b@" + digest + "\"}]}]\n",
		},
		"images of a runtime, and of its initializers": {
			`{images: {digests: {"quay.io/a/b:1": "DIGEST", "quay.io/a/fetch:1": "DIGEST"}}}`,
			"kind: ClusterTrainingRuntime\nspec: {template: {spec: {replicatedJobs: [" +
				"{name: dataset-initializer, template: {spec: {template: {spec: {containers: [{image: \"quay.io/a/fetch:1\"}]}}}}}, " +
				"{name: launcher, template: {spec: {template: {spec: {initContainers: [{image: \"quay.io/a/b:1\"}]}}}}}]}}}\n",
			"kind: ClusterTrainingRuntime\nspec: {template: {spec: {replicatedJobs: [" +
				"{name: dataset-initializer, template: {spec: {template: {spec: {containers: [{image: \"quay.io/a/fetch@" + digest + "\"}]}}}}}, " +
				"{name: launcher, template: {spec: {template: {spec: {initContainers: [{image: \"quay.io/a/b@" + digest + "\"}]}}}}}]}}}\n",
		},
		"a ConfigMap of admission parameters": {
			`{images: {digests: {"quay.io/a/b:1": "DIGEST"}}}`,
			"apiVersion: v1\nkind: ConfigMap\nmetadata: {namespace: trainyard-system}\ndata: {mpi.image: \"quay.io/a/b:1\", image: \"quay.io/a/b:1\"}\n",
			"apiVersion: v1\nkind: ConfigMap\nmetadata: {namespace: trainyard-system}\ndata: {mpi.image: \"quay.io/a/b@" + digest + "\", image: \"quay.io/a/b:1\"}\n",
		},
		"another ConfigMap": {
			`{images: {mirrors: {quay.io: m.example}}}`,
			"apiVersion: v1\nkind: ConfigMap\nmetadata: {namespace: a}\ndata: {mpi.image: \"quay.io/a/b:1\"}\n",
			"apiVersion: v1\nkind: ConfigMap\nmetadata: {namespace: a}\ndata: {mpi.image: \"quay.io/a/b:1\"}\n",
		},
	} {
		t.Run(name, func(t *testing.T) {
			got, messages := apply(t, changes(t, tc.spec), tc.object)
			if diff := cmp.Diff(tc.want, got); diff != "" || len(messages) > 0 {
				t.Errorf("messages %q, -want +got:\n%s", messages, diff)
			}
		})
	}
}

func TestImages(t *testing.T) {
	for name, tc := range map[string]struct {
		images, image, want string
		messages            []string
	}{
		"a digest replaces the tag":       {images: `{digests: {"quay.io/a/b:1": DIGEST}}`, image: "quay.io/a/b:1", want: "quay.io/a/b@" + digest},
		"the default tag is latest":       {images: `{digests: {"quay.io/a/b": DIGEST}}`, image: "quay.io/a/b:latest", want: "quay.io/a/b@" + digest},
		"Docker Hub has several names":    {images: `{digests: {"nginx:1": DIGEST}}`, image: "docker.io/library/nginx:1", want: "docker.io/library/nginx@" + digest},
		"an image with a digest keeps it": {images: `{mirrors: {quay.io: m.example/q}}`, image: "quay.io/a/b:1@" + digest, want: "m.example/q/a/b:1@" + digest},
		"another tag has no digest": {
			images: `{digests: {"quay.io/a/b:1": DIGEST}}`, image: "quay.io/a/b:2", want: "quay.io/a/b:2",
			messages: []string{`containers.0.image: image quay.io/a/b:2 has no digest: for this repository, spec.images.digests of the Transformer contains only quay.io/a/b:1; add this image with its digest`, `spec.images.digests."quay.io/a/b:1": no object uses this image`},
		},
		"an image of another repository needs no digest": {
			images: `{digests: {"quay.io/a/b:1": DIGEST}}`, image: "quay.io/a/c:2", want: "quay.io/a/c:2",
			messages: []string{`spec.images.digests."quay.io/a/b:1": no object uses this image`},
		},
		"the longest folder is replaced":        {images: `{mirrors: {quay.io: m.example, quay.io/a: n.example/x}}`, image: "quay.io/a/b:1", want: "n.example/x/b:1"},
		"a folder matches whole names only":     {images: `{mirrors: {quay.io/a: n.example/x}}`, image: "quay.io/ab/c:1", want: "quay.io/ab/c:1"},
		"Docker Hub can be mirrored":            {images: `{mirrors: {docker.io: m.example/hub}}`, image: "nginx", want: "m.example/hub/library/nginx"},
		"an image in a mirror keeps its name":   {images: `{mirrors: {quay.io: quay.io/cache}}`, image: "quay.io/a/b", want: "quay.io/cache/a/b"},
		"a digest of the image in the mirror":   {images: `{mirrors: {quay.io: m.example}, digests: {"m.example/a/b:1": DIGEST}}`, image: "quay.io/a/b:1", want: "m.example/a/b@" + digest},
		"a digest and a mirror":                 {images: `{mirrors: {quay.io: m.example:5000}, digests: {"quay.io/a/b:1": DIGEST}}`, image: "quay.io/a/b:1", want: "m.example:5000/a/b@" + digest},
		"other text stays the same":             {images: `{mirrors: {docker.io: m.example}}`, image: "$(IMAGE)", want: "$(IMAGE)"},
		"a number is no image":                  {images: `{mirrors: {docker.io: m.example}}`, image: "3", want: "3"},
		"a registry without a dot needs a port": {images: `{mirrors: {"registry:5000": m.example}}`, image: "registry:5000/a:1", want: "m.example/a:1"},
		"localhost can be a mirror":             {images: `{mirrors: {quay.io: localhost/x}}`, image: "quay.io/a", want: "localhost/x/a"},
	} {
		t.Run(name, func(t *testing.T) {
			got, messages := apply(t, changes(t, "{images: "+tc.images+"}"), "containers:\n- image: "+tc.image+"\n")
			if diff := cmp.Diff("containers:\n- image: "+tc.want+"\n", got); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
			if diff := cmp.Diff(strings.Join(tc.messages, "\n"), strings.Join(messages, "\n")); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

func TestDocumentsAreChecked(t *testing.T) {
	for name, tc := range map[string]struct{ spec, want string }{
		"an unknown key":              {`{label: {a: b}}`, `a.yaml:4:8: spec.label: unknown key: did you mean "labels"?`},
		"an empty spec":               {`{}`, `a.yaml:4:1: spec: want at least one of "argocd", "images", "labels", "platform"`},
		"a reserved label":            {`{labels: {trainyard.dev/tenant: a}}`, `a.yaml:4:17: spec.labels."trainyard.dev/tenant": invalid key: want a label name such as app or example.com/app: at most 63 letters, digits, "-", "_" and "."; a domain and "/" may precede them; the domain must not be trainyard.dev`},
		"a digest as key":             {`{images: {digests: {"a@` + digest + `": a}}}`, `invalid key: want an image reference without a digest, such as quay.io/acme/openmpi:4.1`},
		"an invalid digest":           {`{images: {digests: {"a:1": "2"}}}`, `spec.images.digests."a:1": want a digest such as sha256:<64 hex digits>, got "2"`},
		"a folder without a registry": {`{images: {mirrors: {acme: a.b}}}`, `invalid key: want a registry such as quay.io, or a folder in a registry such as registry.acme.example/mirror/quay`},
		"argocd is no boolean":        {`{argocd: 3}`, `a.yaml:4:16: spec.argocd: want true or false, got the number 3`},
	} {
		t.Run(name, func(t *testing.T) {
			document := "apiVersion: trainyard.dev/v1alpha1\nkind: Transformer\nmetadata: {name: a}\nspec: " + tc.spec + "\n"
			err := generator.New(trainyard.CUE).Changes(t.Context(), generator.Input{Name: "a.yaml", Text: []byte(document)}, &transform.Changes{})
			if err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("Changes() = %v, want %s", err, tc.want)
			}
		})
	}
}
