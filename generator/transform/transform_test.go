package transform_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.yaml.in/yaml/v4"

	"github.com/trainyard/trainyard"
	"github.com/trainyard/trainyard/generator"
	"github.com/trainyard/trainyard/generator/transform"
)

const digest = "sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

// changes reads the spec of a Transformer as people do.
func changes(t *testing.T, spec string) transform.Changes {
	t.Helper()
	document := "apiVersion: trainyard.dev/v1alpha1\nkind: Transformer\nmetadata: {name: a}\nspec: " + strings.ReplaceAll(spec, "DIGEST", digest) + "\n"
	c, err := generator.New(trainyard.CUE).Changes(t.Context(), generator.Input{Name: "a.yaml", Text: []byte(document)})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// apply makes the changes twice, of which the second time must change nothing.
func apply(t *testing.T, c transform.Changes, object string) (changed string, says []string) {
	t.Helper()
	changed = object
	for range 2 {
		var document yaml.Node
		if err := yaml.Unmarshal([]byte(changed), &document); err != nil {
			t.Fatal(err)
		}
		wrong, notes := c.Apply(document.Content)
		text, err := yaml.Dump(document.Content[0], yaml.WithIndent(2), yaml.WithLineWidth(-1))
		if err != nil {
			t.Fatal(err)
		}
		if says != nil && changed != string(text) {
			t.Errorf("once more makes\n%sof\n%s", text, changed)
		}
		if changed = string(text); says == nil {
			says = []string{}
			for _, p := range wrong {
				says = append(says, p.Path+": "+p.Message)
			}
			for _, n := range notes {
				says = append(says, n.Path+": "+n.Message)
			}
		}
	}
	return changed, says
}

func TestApply(t *testing.T) {
	for name, tc := range map[string]struct{ spec, object, want string }{
		"what nothing is said of stays as it is written": {
			`{labels: {a: b}}`,
			"# words\nkind: X # a kind\nspec: {z: 1, a: 0x10}\nmetadata:\n  labels: {a: b} # and labels\n",
			"# words\nkind: X # a kind\nspec: {z: 1, a: 0x10}\nmetadata:\n  labels: {a: b} # and labels\n",
		},
		"labels are added, and get the value that is said": {
			`{platform: acme, labels: {a.example/b: "42", c: d, "on": "yes"}}`,
			"kind: X\nmetadata:\n  labels:\n    e: f\n    c: g # here\n",
			"kind: X\nmetadata:\n  labels:\n    e: f\n    c: d # here\n    a.example/b: \"42\"\n    \"on\": \"yes\"\n    trainyard.dev/platform: acme\n",
		},
		"an object without metadata gets some": {
			`{labels: {a: b}}`, "kind: X\nmetadata:\n", "kind: X\nmetadata:\n  labels:\n    a: b\n",
		},
		"what platforms share is labelled for none, and what is another's stays that": {
			`{platform: acme, labels: {a: b}}`,
			"kind: X\nmetadata:\n  labels:\n    trainyard.dev/keep: \"true\"\n",
			"kind: X\nmetadata:\n  labels:\n    trainyard.dev/keep: \"true\"\n",
		},
		"a platform of its own": {
			`{platform: acme}`, "metadata: {labels: {trainyard.dev/platform: other}}\n", "metadata: {labels: {trainyard.dev/platform: other}}\n",
		},
		"metadata that is none": {`{labels: {a: b}}`, "kind: X\nmetadata: text\n", "kind: X\nmetadata: text\n"},
		"a wave by the kind": {
			`{argocd: true}`,
			"apiVersion: trainer.kubeflow.org/v1alpha1\nkind: TrainingRuntime\nmetadata: {name: a}\n",
			"apiVersion: trainer.kubeflow.org/v1alpha1\nkind: TrainingRuntime\nmetadata: {name: a, annotations: {argocd.argoproj.io/sync-options: 'Prune=confirm,SkipDryRunOnMissingResource=true', argocd.argoproj.io/sync-wave: \"0\"}}\n",
		},
		"a wave of its own": {
			`{argocd: true}`,
			"apiVersion: v1\nkind: ConfigMap\nmetadata:\n  annotations:\n    argocd.argoproj.io/sync-wave: \"7\"\n",
			"apiVersion: v1\nkind: ConfigMap\nmetadata:\n  annotations:\n    argocd.argoproj.io/sync-wave: \"7\"\n",
		},
		"a kind of another group": {`{argocd: true}`, "apiVersion: example.com/v1\nkind: ConfigMap\n", "apiVersion: example.com/v1\nkind: ConfigMap\n"},
		"false asks for nothing":  {`{argocd: false}`, "apiVersion: v1\nkind: ConfigMap\n", "apiVersion: v1\nkind: ConfigMap\n"},
		"an image of a pod, of a TrainJob, and what that is compared with": {
			`{images: {digests: {"quay.io/a/b:1": "DIGEST"}}}`,
			"apiVersion: trainer.kubeflow.org/v1alpha1\nkind: TrainJob\nspec:\n  trainer: {image: \"quay.io/a/b:1\"}\n  x: [{containers: [{image: \"quay.io/a/b:1\"}]}]\n",
			"apiVersion: trainer.kubeflow.org/v1alpha1\nkind: TrainJob\nspec:\n  trainer: {image: \"quay.io/a/b@" + digest + "\"}\n  x: [{containers: [{image: \"quay.io/a/b@" + digest + "\"}]}]\n",
		},
		"a ConfigMap of rules": {
			`{images: {digests: {"quay.io/a/b:1": "DIGEST"}}}`,
			"apiVersion: v1\nkind: ConfigMap\nmetadata: {namespace: trainyard-system}\ndata: {mpi.image: \"quay.io/a/b:1\", image: \"quay.io/a/b:1\"}\n",
			"apiVersion: v1\nkind: ConfigMap\nmetadata: {namespace: trainyard-system}\ndata: {mpi.image: \"quay.io/a/b@" + digest + "\", image: \"quay.io/a/b:1\"}\n",
		},
		"a ConfigMap of somebody else": {
			`{images: {mirrors: {quay.io: m.example}}}`,
			"apiVersion: v1\nkind: ConfigMap\nmetadata: {namespace: a}\ndata: {mpi.image: \"quay.io/a/b:1\"}\n",
			"apiVersion: v1\nkind: ConfigMap\nmetadata: {namespace: a}\ndata: {mpi.image: \"quay.io/a/b:1\"}\n",
		},
	} {
		t.Run(name, func(t *testing.T) {
			got, says := apply(t, changes(t, tc.spec), tc.object)
			if diff := cmp.Diff(tc.want, got); diff != "" || len(says) > 0 {
				t.Errorf("says %q, -want +got:\n%s", says, diff)
			}
		})
	}
}

func TestImages(t *testing.T) {
	for name, tc := range map[string]struct {
		images, image, want string
		says                []string
	}{
		"a digest takes the place of the tag": {images: `{digests: {"quay.io/a/b:1": DIGEST}}`, image: "quay.io/a/b:1", want: "quay.io/a/b@" + digest},
		"no tag is latest":                    {images: `{digests: {"quay.io/a/b": DIGEST}}`, image: "quay.io/a/b:latest", want: "quay.io/a/b@" + digest},
		"Docker Hub has many names":           {images: `{digests: {"nginx:1": DIGEST}}`, image: "docker.io/library/nginx:1", want: "docker.io/library/nginx@" + digest},
		"a digest is there already":           {images: `{mirrors: {quay.io: m.example/q}}`, image: "quay.io/a/b:1@" + digest, want: "m.example/q/a/b:1@" + digest},
		"another tag has no digest": {
			images: `{digests: {"quay.io/a/b:1": DIGEST}}`, image: "quay.io/a/b:2", want: "quay.io/a/b:2",
			says: []string{`containers.0.image: quay.io/a/b:2 has no digest: spec.images.digests of the Transformer has quay.io/a/b:1`, `spec.images.digests."quay.io/a/b:1": no object names this image`},
		},
		"another repository is not asked about": {
			images: `{digests: {"quay.io/a/b:1": DIGEST}}`, image: "quay.io/a/c:2", want: "quay.io/a/c:2",
			says: []string{`spec.images.digests."quay.io/a/b:1": no object names this image`},
		},
		"the longest folder is replaced":             {images: `{mirrors: {quay.io: m.example, quay.io/a: n.example/x}}`, image: "quay.io/a/b:1", want: "n.example/x/b:1"},
		"a folder ends where its name does":          {images: `{mirrors: {quay.io/a: n.example/x}}`, image: "quay.io/ab/c:1", want: "quay.io/ab/c:1"},
		"Docker Hub is mirrored by its name":         {images: `{mirrors: {docker.io: m.example/hub}}`, image: "nginx", want: "m.example/hub/library/nginx"},
		"what lies in a mirror stays there":          {images: `{mirrors: {quay.io: quay.io/cache}}`, image: "quay.io/a/b", want: "quay.io/cache/a/b"},
		"a digest by the name in the mirror":         {images: `{mirrors: {quay.io: m.example}, digests: {"m.example/a/b:1": DIGEST}}`, image: "quay.io/a/b:1", want: "m.example/a/b@" + digest},
		"a digest and a mirror":                      {images: `{mirrors: {quay.io: m.example:5000}, digests: {"quay.io/a/b:1": DIGEST}}`, image: "quay.io/a/b:1", want: "m.example:5000/a/b@" + digest},
		"what is still to be filled in is no image":  {images: `{mirrors: {docker.io: m.example}}`, image: "$(IMAGE)", want: "$(IMAGE)"},
		"what is no text is not an image either":     {images: `{mirrors: {docker.io: m.example}}`, image: "3", want: "3"},
		"a registry without a dot needs a port":      {images: `{mirrors: {"registry:5000": m.example}}`, image: "registry:5000/a:1", want: "m.example/a:1"},
		"a mirror on this host is a registry as any": {images: `{mirrors: {quay.io: localhost/x}}`, image: "quay.io/a", want: "localhost/x/a"},
	} {
		t.Run(name, func(t *testing.T) {
			got, says := apply(t, changes(t, "{images: "+tc.images+"}"), "containers:\n- image: "+tc.image+"\n")
			if diff := cmp.Diff("containers:\n- image: "+tc.want+"\n", got); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
			if diff := cmp.Diff(strings.Join(tc.says, "\n"), strings.Join(says, "\n")); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

func TestDocumentsAreChecked(t *testing.T) {
	for name, tc := range map[string]struct{ spec, want string }{
		"an unknown key":             {`{label: {a: b}}`, `a.yaml:4:8: spec.label: unknown key: did you mean "labels"?`},
		"nothing to do":              {`{}`, `a.yaml:4:1: spec: want at least one of argocd, images, labels, platform`},
		"a label of ours":            {`{labels: {trainyard.dev/tenant: a}}`, `a.yaml:4:17: spec.labels."trainyard.dev/tenant": want as key a label name such as app or example.com/app: at most 63 letters, digits, "-", "_" and ".", after an optional domain other than trainyard.dev and "/"`},
		"a digest of a digest":       {`{images: {digests: {"a@` + digest + `": a}}}`, `want as key an image reference without a digest, such as quay.io/acme/openmpi:4.1`},
		"a tag in the place of one":  {`{images: {digests: {"a:1": "2"}}}`, `spec.images.digests."a:1": want a digest such as sha256:<64 hex digits>, got "2"`},
		"a folder of no registry":    {`{images: {mirrors: {acme: a.b}}}`, `want as key a registry such as quay.io, or a folder of one such as registry.acme.example/mirror/quay`},
		"a wave is not for choosing": {`{argocd: 3}`, `a.yaml:4:16: spec.argocd: want true or false, got the number 3`},
	} {
		t.Run(name, func(t *testing.T) {
			document := "apiVersion: trainyard.dev/v1alpha1\nkind: Transformer\nmetadata: {name: a}\nspec: " + tc.spec + "\n"
			_, err := generator.New(trainyard.CUE).Changes(t.Context(), generator.Input{Name: "a.yaml", Text: []byte(document)})
			if err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("Changes() = %v, want %s", err, tc.want)
			}
		})
	}
}
