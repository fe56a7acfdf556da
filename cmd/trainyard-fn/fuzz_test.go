package main

import (
	"bytes"
	"strings"
	"testing"

	"sigs.k8s.io/kustomize/kyaml/fn/framework"
	"sigs.k8s.io/yaml"
)

const document = `{apiVersion: trainyard.dev/v1alpha1, kind: Platform, metadata: {name: a}, spec: {runtimes: {mpi: {from: openmpi-cpu, image: a}}}}`

const changes = `{apiVersion: trainyard.dev/v1alpha1, kind: Transformer, metadata: {name: a}, spec: {labels: {a: b}, images: {mirrors: {docker.io: a.b}}, argocd: true}}`

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
	"apiVersion: config.kubernetes.io/v1\nkind: ResourceList\nitems: []\nfunctionConfig: " + strings.Replace(document, "mpi:", "Jpi:", 1) + "\n",
	"apiVersion: config.kubernetes.io/v1\nkind: ResourceList\na: &a [{kind: A}]\nitems: *a\n",
	"apiVersion: config.kubernetes.io/v1\nkind: ResourceList\nitems: [{metadata: [a]}, {metadata: {labels: [a]}}]\nfunctionConfig: " + changes + "\n",
	"apiVersion: config.kubernetes.io/v1\nkind: ResourceList\nitems: [{a: &a {b: c}, <<: *a, metadata: {annotations: {}}}]\nfunctionConfig: " + changes + "\n",
	"apiVersion: config.kubernetes.io/v1\nkind: ResourceList\nitems: []\n...\napiVersion: v1\n",
}

// decode reads the output as strictly as kustomize and kpt do.
func decode(t *testing.T, text []byte) (list struct {
	APIVersion string            `json:"apiVersion"`
	Kind       string            `json:"kind"`
	Items      []map[string]any  `json:"items"`
	Results    framework.Results `json:"results"`
}) {
	t.Helper()
	if err := yaml.Unmarshal(text, &list, yaml.DisallowUnknownFields); err != nil {
		t.Fatalf("standard output is no ResourceList: %v\n%s", err, text)
	}
	return list
}

// FuzzRun checks that standard output is either empty or one ResourceList with the apiVersion of the input. If the
// output is empty, the exit code must not be 0, and standard error must contain a message. For each result with the
// severity "error", the exit code must not be 0, and standard error must contain the message of the result.
func FuzzRun(f *testing.F) {
	for _, seed := range seeds {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		var out, messages bytes.Buffer
		code := run(t.Context(), nil, strings.NewReader(text), &out, &messages)
		if out.Len() == 0 {
			if code == exitOK || messages.Len() == 0 {
				t.Fatalf("no output, with exit code %d and the messages %q", code, messages.String())
			}
			return
		}
		var input struct{ APIVersion string }
		output := decode(t, out.Bytes())
		if err := yaml.Unmarshal([]byte(text), &input); err != nil || output.APIVersion != input.APIVersion || output.Kind != "ResourceList" {
			t.Fatalf("the output is a %s of %s, want a ResourceList of %s", output.Kind, output.APIVersion, input.APIVersion)
		}
		for _, r := range output.Results {
			if r.Severity == framework.Error && (code == exitOK || !strings.Contains(messages.String(), r.Message)) {
				t.Fatalf("exit code %d, and the messages %q lack %q", code, messages.String(), r.Message)
			}
		}
	})
}

func TestGenerateKeepsOtherItems(t *testing.T) {
	var out, messages bytes.Buffer
	config := strings.Replace(document, "{name: a}", `{name: a, annotations: {config.kubernetes.io/local-config: "true"}}`, 1)
	list := "apiVersion: config.kubernetes.io/v1beta1\nkind: ResourceList\nitems:\n- {apiVersion: v1, kind: ConfigMap, metadata: {name: other}, data: {a: \"a\\n\\n  b\\n\"}} # a comment\n- " + config + "\nfunctionConfig: " + config + "\n"
	if code := run(t.Context(), nil, strings.NewReader(list), &out, &messages); code != exitOK {
		t.Fatalf("exit code %d: %s", code, messages.String())
	}
	items := decode(t, out.Bytes()).Items
	if len(items) != 2 || items[0]["kind"] != "ConfigMap" || items[1]["kind"] != "ClusterTrainingRuntime" {
		t.Fatalf("want a ConfigMap and a ClusterTrainingRuntime, got the items %v", items)
	}
	if !strings.Contains(out.String(), "# a comment\n") {
		t.Errorf("want the comment of the input in the output, got:\n%s", out.String())
	}
	if data, _ := items[0]["data"].(map[string]any); data["a"] != "a\n\n  b\n" {
		t.Errorf("the ConfigMap is now %v", items[0])
	}
}

// TestRefusedInput checks that the program refuses input that makes kyaml panic, and input from which kyaml
// silently drops a part.
func TestRefusedInput(t *testing.T) {
	const head = "apiVersion: config.kubernetes.io/v1\nkind: ResourceList\n"
	for name, tc := range map[string]struct{ input, want string }{
		"another document":    {head + "items: []\n...\n" + head + "items: []\n", "want one YAML document"},
		"duplicate keys":      {head + "items: []\nitems: []\n", `key "items" already set`},
		"items are an alias":  {head + "a: &a [{kind: A}]\nitems: *a\n", "items: want a list that is not a YAML alias"},
		"items are a mapping": {head + "items: {a: b}\n", "items: want a list"},
		"an item is null":     {head + "items: [null]\n", "items.0: want a mapping, got null"},
		"metadata is a list":  {head + "items: [{metadata: [a]}]\n", "items.metadata: want a mapping"},
		"labels are a list":   {head + "items: [{metadata: {labels: [a]}}]\n", "items.metadata.labels: want a mapping"},
		"an alias to itself":  {head + "items: [&a {a: *a}]\n", "value contains itself"},
		"a key in capitals":   {"ApiVersion: config.kubernetes.io/v1\nkind: ResourceList\nitems: []\n", `got apiVersion "" and kind "ResourceList"`},
		"no ResourceList":     {"apiVersion: v1\nkind: List\nitems: []\n", `got apiVersion "v1" and kind "List"`},
		"more than the bound": {strings.Repeat(" ", maxInput+1), "more than 64 MiB"},
		"an empty input":      {" \n", "standard input is empty"},
	} {
		t.Run(name, func(t *testing.T) {
			var out, messages bytes.Buffer
			code := run(t.Context(), nil, strings.NewReader(tc.input), &out, &messages)
			if code != exitInvalid || out.Len() > 0 || !strings.Contains(messages.String(), tc.want) {
				t.Errorf("exit code %d, %d bytes of output and the message %q, want no output and the message %q", code, out.Len(), messages.String(), tc.want)
			}
		})
	}
}
