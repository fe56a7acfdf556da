package main

import (
	"bytes"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"
)

const document = `{apiVersion: trainyard.dev/v1alpha1, kind: Platform, metadata: {name: a}, spec: {runtimes: {mpi: {from: openmpi-cpu, image: a}}}}`

const changes = `{apiVersion: trainyard.dev/v1alpha1, kind: Transformer, metadata: {name: a}, spec: {labels: {a: b}, images: {mirrors: {docker.io: a.b}}, argocd: true}}`

// seeds are ResourceLists, and what is none.
var seeds = []string{
	"", "{", "a: b", "- a", "null", "apiVersion: config.kubernetes.io/v1\nkind: ResourceList\n",
	"apiVersion: config.kubernetes.io/v1\nkind: ResourceList\nitems: []\nfunctionConfig: " + document + "\n",
	"apiVersion: config.kubernetes.io/v1beta1\nkind: ResourceList\nitems: [" + document + "]\nfunctionConfig: " + document + "\n",
	"apiVersion: config.kubernetes.io/v1\nkind: ResourceList\nitems: [null, {}, {metadata: 3}]\nfunctionConfig: {metadata: {annotations: {trainyard.dev/function: validate}}}\n",
	"apiVersion: config.kubernetes.io/v1\nkind: ResourceList\nitems: {a: b}\nfunctionConfig: 3\n",
	"apiVersion: config.kubernetes.io/v1\nkind: ResourceList\nfunctionConfig: {apiVersion: v1, kind: Pod}\n",
	"apiVersion: config.kubernetes.io/v1\nkind: ResourceList\nitems: [{a: &a [1e3, 0777, yes, 9007199254740993]}, # words\n  {containers: [{image: nginx}], b: *a}]\nfunctionConfig: " + changes + "\n",
	"apiVersion: config.kubernetes.io/v1\nkind: ResourceList\nitems:\n- metadata: {annotations: {kustomize.config.k8s.io/id: a}}\nfunctionConfig: " + strings.Replace(document, "{name: a}", "{name: a, annotations: {trainyard.dev/function: validate}}", 1) + "\n",
	"apiVersion: v1\nkind: List\nitems: []\n",
	"a: &a [*a, *a]\nb: *a\n",
}

// FuzzRun: whatever a host sends, standard output is exactly one ResourceList of the version that was sent, or
// nothing; who gets nothing, or an error among the results, is told in words and by the exit code.
func FuzzRun(f *testing.F) {
	for _, seed := range seeds {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		var out, words bytes.Buffer
		code := run(t.Context(), nil, strings.NewReader(text), &out, &words)
		if out.Len() == 0 {
			if code == exitOK || words.Len() == 0 {
				t.Fatalf("nothing came out, with exit code %d and the words %q", code, words.String())
			}
			return
		}
		var answer, asked resourceList
		if err := yaml.UnmarshalStrict(out.Bytes(), &answer); err != nil {
			t.Fatalf("standard output is no ResourceList: %v\n%s", err, out.String())
		}
		if err := yaml.Unmarshal([]byte(text), &asked); err != nil || answer.APIVersion != asked.APIVersion || answer.Kind != "ResourceList" {
			t.Fatalf("asked for %s, the answer is a %s of %s", asked.APIVersion, answer.Kind, answer.APIVersion)
		}
		for _, r := range answer.Results {
			if r.Severity == "error" && (code == exitOK || !strings.Contains(words.String(), r.Message)) {
				t.Fatalf("exit code %d, and the words %q do not say: %s", code, words.String(), r.Message)
			}
		}
	})
}

// TestItemsOfOthersStay: a function that adds objects loses none of those before it, but for its own configuration.
func TestItemsOfOthersStay(t *testing.T) {
	var out, words bytes.Buffer
	config := strings.Replace(document, "{name: a}", `{name: a, annotations: {config.kubernetes.io/local-config: "true"}}`, 1)
	list := "apiVersion: config.kubernetes.io/v1beta1\nkind: ResourceList\nitems:\n- {apiVersion: v1, kind: ConfigMap, metadata: {name: ours}, data: {a: \"a\\n\\n  b\\n\"}} # as it is\n- " + config + "\nfunctionConfig: " + config + "\n"
	if code := run(t.Context(), nil, strings.NewReader(list), &out, &words); code != exitOK {
		t.Fatalf("exit code %d: %s", code, words.String())
	}
	var answer resourceList
	if err := yaml.Unmarshal(out.Bytes(), &answer); err != nil {
		t.Fatal(err)
	}
	var kinds []string
	for _, item := range answer.Items {
		kinds = append(kinds, refOf(item).Kind)
	}
	if got := strings.Join(kinds, " "); got != "ConfigMap ClusterTrainingRuntime" {
		t.Errorf("items are %s", got)
	}
	if !strings.Contains(out.String(), "# as it is\n") {
		t.Errorf("a comment is gone:\n%s", out.String())
	}
	if data, _ := answer.Items[0]["data"].(map[string]any); data["a"] != "a\n\n  b\n" {
		t.Errorf("the ConfigMap has become %v", answer.Items[0])
	}
}
