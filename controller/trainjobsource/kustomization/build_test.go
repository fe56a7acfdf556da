package kustomization

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/kustomize/kyaml/filesys"
)

func job(name string) string {
	return fmt.Sprintf("apiVersion: trainer.kubeflow.org/v1alpha1\nkind: TrainJob\nmetadata: {name: %s}\nspec: {trainer: {numNodes: 2}}\n", name)
}

func tree(files ...string) fstest.MapFS {
	all := fstest.MapFS{}
	for i := 0; i < len(files); i += 2 {
		all[files[i]] = &fstest.MapFile{Data: []byte(files[i+1])}
	}
	return all
}

// build builds the kustomization in the folder "app". build returns one line of text for each
// object, or the text of the error.
func build(t *testing.T, files fstest.MapFS) string {
	t.Helper()
	objects, err := Build(files, "app", DefaultLimits)
	if err != nil {
		return "error: " + err.Error()
	}
	var lines []string
	for _, object := range objects {
		metadata := object.Fields["metadata"].(map[string]any)
		spec := object.Fields["spec"].(map[string]any)
		lines = append(lines, fmt.Sprintf("%v at %s:%d, %v, %v", metadata["name"], object.File, object.Line, metadata["labels"], spec["trainer"]))
	}
	return strings.Join(lines, "\n")
}

func TestBuild(t *testing.T) {
	for name, tc := range map[string]struct {
		files []string
		want  string
	}{
		"a base and patches": {
			[]string{
				"base/kustomization.yaml", "resources: [jobs.yaml]\nlabels: [{pairs: {team: a}}]\n",
				"base/jobs.yaml", job("one") + "---\n" + job("two"),
				"app/kustomization.yml", "resources: [../base, three.yaml]\nnamePrefix: dev-\npatches:\n- path: nodes.yaml\n- target: {name: two}\n  patch: |\n    - {op: replace, path: /spec/trainer/numNodes, value: 8}\n",
				"app/nodes.yaml", "apiVersion: trainer.kubeflow.org/v1alpha1\nkind: TrainJob\nmetadata: {name: one}\nspec: {trainer: {numNodes: 4}}\n",
				"app/three.yaml", job("three"),
			},
			"dev-one at base/jobs.yaml:1, map[team:a], map[numNodes:4]\ndev-two at base/jobs.yaml:6, map[team:a], map[numNodes:8]\ndev-three at app/three.yaml:1, <nil>, map[numNodes:2]",
		},
		"a component": {
			[]string{"app/Kustomization", "resources: [a.yaml]\ncomponents: [../part]", "app/a.yaml", job("a"), "part/kustomization.yaml", "apiVersion: kustomize.config.k8s.io/v1alpha1\nkind: Component\nlabels: [{pairs: {x: v}}]"},
			"a at app/a.yaml:1, map[x:v], map[numNodes:2]",
		},
		"a missing file":          {[]string{"app/kustomization.yaml", "resources:\n- a.yaml"}, "error: app/kustomization.yaml:2: app/a.yaml is not in the commit"},
		"no kustomization":        {[]string{"app/kustomization.yaml", "resources: [../b]", "b/a.yaml", job("a")}, "error: b: no file kustomization.yaml"},
		"invalid YAML":            {[]string{"app/kustomization.yaml", "resources: ["}, "error: app/kustomization.yaml:1: did not find expected node content"},
		"a list":                  {[]string{"app/kustomization.yaml", "[]"}, "error: app/kustomization.yaml: want a mapping with the fields of a kustomization, such as resources"},
		"a folder in itself":      {[]string{"app/kustomization.yaml", "resources: [../b]", "b/kustomization.yaml", "resources: [../app]"}, "error: app: the kustomization includes itself"},
		"a deprecated field":      {[]string{"app/kustomization.yaml", "bases: [../b]"}, `error: app/kustomization.yaml:1: the field "bases" is deprecated in kustomize and not allowed here: use resources`},
		"an error of kustomize":   {[]string{"app/kustomization.yaml", "resources: [a.yaml, b.yaml]", "app/a.yaml", job("a"), "app/b.yaml", job("a")}, "error: building the kustomization in app: "},
		"A2, out of the folder":   {[]string{"app/kustomization.yaml", "resources: [../../etc/passwd]"}, `error: app/kustomization.yaml:1: "../../etc/passwd" leads out of the repository`},
		"A2, an absolute path":    {[]string{"app/kustomization.yaml", "resources: [/etc/passwd]"}, `error: app/kustomization.yaml:1: "/etc/passwd" leads out of the repository`},
		"A2, a patch elsewhere":   {[]string{"app/kustomization.yaml", "patches: [{path: ../../etc/passwd}]"}, `error: app/kustomization.yaml:1: "../../etc/passwd" leads out of the repository`},
		"A12, aliases":            {[]string{"app/kustomization.yaml", "resources: [a.yaml]", "app/a.yaml", "a: &a [x, x]\nb: [*a, *a]"}, "error: app/a.yaml:1: anchors and aliases are not allowed: write the value itself"},
		"A12, aliases in patch":   {[]string{"app/kustomization.yaml", "patches: [{patch: \"a: &a b\"}]"}, "error: app/kustomization.yaml:1: patch:1: anchors and aliases are not allowed: write the value itself"},
		"A13, copies":             {[]string{"app/kustomization.yaml", "patches: [{patch: '[{\"op\": \"co\\u0070y\", \"path\": \"/spec\"}]'}]"}, "error: app/kustomization.yaml:1: patch:1: the operation copy is not allowed in JSON patches"},
		"A13, a copy added last":  {[]string{"app/kustomization.yaml", "patches: [{patch: '[{\"op\": \"add\", \"op\": \"copy\"}]'}]"}, `error: app/kustomization.yaml:1: patch:1: the key "op" appears twice in one mapping`},
		"A13, a merge key":        {[]string{"app/kustomization.yaml", "patches: [{patch: '[{<<: {op: copy}}]'}]"}, `error: app/kustomization.yaml:1: patch:1: the key "<<" is not a string: put it in quotes`},
		"A2, a tag":               {[]string{"app/kustomization.yaml", "resources: [!!binary aHR0cDovL2EvYg==]"}, "error: app/kustomization.yaml:1: the tag !!binary is not allowed: remove it, and put the value in quotes if it is a string"},
		"A2, a tag in a patch":    {[]string{"app/kustomization.yaml", "patches: [{path: !!binary aHR0cDovL2EvYg==}]"}, "error: app/kustomization.yaml:1: the tag !!binary is not allowed: remove it, and put the value in quotes if it is a string"},
		"A2, a list in a list":    {[]string{"app/kustomization.yaml", "resources: [[http://a/b]]"}, "error: app/kustomization.yaml:1: resources: want a list of paths"},
		"A2, a mapping":           {[]string{"app/kustomization.yaml", "resources: {a: http://a/b}"}, "error: app/kustomization.yaml:1: resources: want a list"},
		"a name with digits":      {[]string{"app/kustomization.yaml", "resources: [01-job.yaml]\npatches: [{path: 2.yaml}]\nlabels: [{pairs: {8x-team: a}}]", "app/01-job.yaml", job("a"), "app/2.yaml", job("a")}, "a at app/01-job.yaml:1, map[8x-team:a], map[numNodes:2]"},
		"a number as a path":      {[]string{"app/kustomization.yaml", "resources: [1]"}, "error: app/kustomization.yaml:1: resources: want a list of paths"},
		"no resources":            {[]string{"app/kustomization.yaml", "resources:\nnamePrefix: a-"}, ""},
		"other label fields":      {[]string{"app/kustomization.yaml", "labels: [{pairs: {a: b}, fields: [{path: spec/a, create: true}]}]"}, `error: app/kustomization.yaml:1: the field "fields" is not allowed in an item of labels`},
		"another kind":            {[]string{"app/kustomization.yaml", "resources: [a.yaml]", "app/a.yaml", job("a") + "---\napiVersion: v1\nkind: Secret\n"}, "error: app/a.yaml:6: an object with apiVersion v1 and kind Secret is not allowed: a TrainJobSource applies only TrainJobs of apiVersion trainer.kubeflow.org/v1alpha1"},
		"a patch of another kind": {[]string{"app/kustomization.yaml", "patches: [{target: {name: a}, patch: '{apiVersion: v1, kind: Pod, metadata: {name: a}}'}]"}, `error: app/kustomization.yaml:1: patch:1: a patch with apiVersion "v1" and kind "Pod" is not allowed: a TrainJobSource applies only TrainJobs of apiVersion trainer.kubeflow.org/v1alpha1`},
		"a patch of the kind":     {[]string{"app/kustomization.yaml", "patches: [{target: {name: a}, patch: '- {op: replace, path: /kind, value: Pod}'}]"}, `error: app/kustomization.yaml:1: patch:1: a JSON patch may change only spec, status, metadata.labels and metadata.annotations, not "/kind"`},
		"a patch of the name":     {[]string{"app/kustomization.yaml", "patches: [{target: {name: a}, patch: '- {op: replace, path: /metadata/name, value: b}'}]"}, `error: app/kustomization.yaml:1: patch:1: a JSON patch may change only spec, status, metadata.labels and metadata.annotations, not "/metadata/name"`},
		"a patch of everything":   {[]string{"app/kustomization.yaml", "patches: [{target: {name: a}, patch: '- {op: replace, path: \"\", value: {}}'}]"}, `error: app/kustomization.yaml:1: patch:1: the path "" of a JSON patch must begin with /`},
		"options of a patch":      {[]string{"app/kustomization.yaml", "patches: [{options: {allowNameChange: true}}]"}, `error: app/kustomization.yaml:1: the field "options" is not allowed in a patch`},
		"an image with +":         {[]string{"app/kustomization.yaml", "images: [{name: example.com/c++, newTag: x}]"}, "error: app/kustomization.yaml:1: images: want values of at most 253 characters, only letters, digits and . _ / : @ -"},
		"a tag that is a number":  {[]string{"app/kustomization.yaml", "images:\n- name: a\n  newTag: 1.0"}, "error: app/kustomization.yaml:3: images: newTag: want a string: put the value in quotes"},
		"a label that is a word":  {[]string{"app/kustomization.yaml", "labels: [{pairs: {a: on}}]"}, "error: app/kustomization.yaml:1: labels: pairs: a: want a string: put the value in quotes"},
		"a path with a space":     {[]string{"app/kustomization.yaml", "resources:\n- my job.yaml", "app/my job.yaml", job("a")}, `error: app/kustomization.yaml:2: path "app/my job.yaml": want names of files and folders with only unaccented letters, digits and the characters . _ -, and without two dots in a row`},
		"a repeated path":         {[]string{"app/kustomization.yaml", "resources: [a.yaml, ./a.yaml]", "app/a.yaml", job("a")}, `error: app/kustomization.yaml:1: resources: "./a.yaml" is listed twice`},
		"no kind":                 {[]string{"app/kustomization.yaml", "resources: [a.yaml]", "app/a.yaml", "apiVersion: trainer.kubeflow.org/v1alpha1"}, "error: app/a.yaml:1: the field kind is missing: want TrainJob"},
		"a patch without a name":  {[]string{"app/kustomization.yaml", "patches: [{patch: 'spec: {a: b}'}]"}, "error: app/kustomization.yaml:1: patch:1: a patch needs apiVersion, kind and metadata.name; if the patch has a target, metadata.name can have any value"},
		"a JSON patch for no one": {[]string{"app/kustomization.yaml", "patches: [{patch: '[]'}]"}, "error: app/kustomization.yaml:1: patch:1: a JSON patch needs a target"},
		"a patch in flow style":   {[]string{"app/kustomization.yaml", "resources: [a.yaml]\npatches: [{target: {name: a}, patch: '[{op: remove, path: /spec/trainer}]'}]", "app/a.yaml", job("a")}, "a at app/a.yaml:1, <nil>, <nil>"},
		"a forged origin":         {[]string{"app/kustomization.yaml", "commonAnnotations: {trainyard.dev/origin: /etc/passwd:1}"}, "error: app/kustomization.yaml:1: the annotation trainyard.dev/origin is reserved"},
		"an origin in a patch":    {[]string{"app/kustomization.yaml", "patches: [{target: {name: a}, patch: '- {op: remove, path: /metadata/annotations/trainyard.dev~1origin}'}]"}, "error: app/kustomization.yaml:1: patch:1: the annotation trainyard.dev/origin is reserved"},
		"state of kustomize":      {[]string{"app/kustomization.yaml", "resources: [a.yaml]", "app/a.yaml", strings.Replace(job("a"), "{name: a}", "{name: a, annotations: {internal.config.kubernetes.io/previousKinds: Deployment}}", 1)}, "error: app/a.yaml:3: the annotation internal.config.kubernetes.io/previousKinds is reserved"},
		"a similar annotation":    {[]string{"app/kustomization.yaml", "resources: [a.yaml]\n---\n# end", "app/a.yaml", strings.Replace(job("a"), "{name: a}", "{name: a, annotations: {trainyard.dev/origin-team: https://trainyard.dev/origins}}", 1)}, "a at app/a.yaml:1, <nil>, map[numNodes:2]"},
		"a test of the kind":      {[]string{"app/kustomization.yaml", "resources: [a.yaml]\npatches: [{target: {name: a}, patch: '- {op: test, path: /kind, value: TrainJob}'}]", "app/a.yaml", job("a")}, "a at app/a.yaml:1, <nil>, map[numNodes:2]"},
		"moved annotations":       {[]string{"app/kustomization.yaml", "patches: [{target: {name: a}, patch: '- {op: move, from: /metadata/annotations, path: /spec/a}'}]"}, `error: app/kustomization.yaml:1: patch:1: a JSON patch must not move "/metadata/annotations"`},
		"a pointer without /":     {[]string{"app/kustomization.yaml", "patches: [{target: {name: a}, patch: '- {op: replace, path: x/kind, value: Pod}'}]"}, `error: app/kustomization.yaml:1: patch:1: the path "x/kind" of a JSON patch must begin with /`},
		"annotations in a list":   {[]string{"app/kustomization.yaml", "resources: [a.yaml]", "app/a.yaml", strings.Replace(job("a"), "{name: a}", "{name: a, annotations: [x]}", 1)}, "error: app/a.yaml:1: metadata.annotations: want a mapping"},
		"a number as a label":     {[]string{"app/kustomization.yaml", "resources: [a.yaml]", "app/a.yaml", strings.Replace(job("a"), "{name: a}", "{name: a, labels: {b: 1}}", 1)}, `error: app/a.yaml:1: metadata.labels: the value of "b" is not a string: put it in quotes`},
		"two documents":           {[]string{"app/kustomization.yaml", "resources: []\n---\nnamePrefix: x-"}, "error: app/kustomization.yaml: want only one YAML document"},
		"a quoted merge key":      {[]string{"app/kustomization.yaml", "resources: [a.yaml]", "app/a.yaml", strings.Replace(job("a"), "numNodes: 2", "'<<': 2", 1)}, "error: app/a.yaml:4: the key << is not allowed"},
		"an object is deleted": {
			[]string{"app/kustomization.yaml", "resources: [a.yaml]\npatches: [{patch: '" + strings.ReplaceAll(strings.TrimSpace(strings.Replace(job("one"), "spec: {trainer: {numNodes: 2}}", "$patch: delete", 1)), "\n", "\n\n    ") + "'}]", "app/a.yaml", job("one") + "---\n" + job("one-more")},
			"one-more at app/a.yaml:6, <nil>, map[numNodes:2]",
		},
		"similar names": {
			[]string{"app/kustomization.yaml", "resources: [a.yaml]\nnamePrefix: bert-", "app/a.yaml", job("bert") + "---\n" + job("a")},
			"bert-bert at app/a.yaml:1, <nil>, map[numNodes:2]\nbert-a at app/a.yaml:6, <nil>, map[numNodes:2]",
		},
		"a resource and a patch": {[]string{"app/kustomization.yaml", "resources: [a.yaml, b.yaml]\npatches: [{target: {kind: TrainJob}, path: b.yaml}]", "app/a.yaml", job("a"), "app/b.yaml", job("b")}, "error: app/kustomization.yaml:2: app/b.yaml is used as a resource and as a patch: write two files"},
		"an unknown operation":   {[]string{"app/kustomization.yaml", "patches: [{target: {name: a}, patch: \"- {op: test, path: /a}\\n- {op: Add, path: /spec/a}\"}]"}, `error: app/kustomization.yaml:1: patch:2: the field op of a JSON patch: want one of add, remove, replace, move, test, got "Add"`},
		"an invalid expression":  {[]string{"app/kustomization.yaml", "patches: [{target: {name: '('}, patch: '[]'}]"}, "error: app/kustomization.yaml:1: target: name: error parsing regexp: missing closing ): `(`"},
		"an invalid selector":    {[]string{"app/kustomization.yaml", "patches: [{target: {labelSelector: a in b}, patch: '[]'}]"}, "error: app/kustomization.yaml:1: target: labelSelector: unable to parse requirement: found 'b' expected: '('"},
		"an unknown target":      {[]string{"app/kustomization.yaml", "patches:\n- {target: {nam: a}, patch: '[]'}"}, `error: app/kustomization.yaml:2: the field "nam" is not allowed in the target of a patch`},
		"a path and a patch":     {[]string{"app/kustomization.yaml", "patches:\n- {target: {name: a}, path: a.yaml, patch: '[]'}"}, "error: app/kustomization.yaml:2: patches: want exactly one of the fields path and patch in each item"},
		"an empty path":          {[]string{"app/kustomization.yaml", "patches:\n- {target: {name: a}, path: null}"}, "error: app/kustomization.yaml: the controller and kustomize parse this file differently, and get different paths or patches: write each path and each patch as a string"},
		"two patches in one":     {[]string{"app/kustomization.yaml", "patches:\n- {target: {name: a}, patch: \"[]\\n---\\n[]\"}"}, "error: app/kustomization.yaml:2: a patch with a target must be one YAML document"},
		"a list as a spec":       {[]string{"app/kustomization.yaml", "patches: [{target: {name: a}, patch: '{apiVersion: trainer.kubeflow.org/v1alpha1, kind: TrainJob, metadata: {name: a}, spec: []}'}]"}, "error: app/kustomization.yaml:1: patch:1: spec: want a mapping"},
		"tags":                   {[]string{"app/kustomization.yaml", "resources: [a.yaml]", "app/a.yaml", "%TAG !a! b\n---\n" + job("a")}, "error: app/a.yaml:1: the directive %TAG is not allowed"},
		"an unusual field":       {[]string{"app/kustomization.yaml", "resources: [a.yaml]", "app/a.yaml", job("a") + "extra: 1\n"}, "error: app/a.yaml:1: the field extra is not allowed"},
		"an owner":               {[]string{"app/kustomization.yaml", "resources: [a.yaml]", "app/a.yaml", strings.Replace(job("a"), "{name: a}", "{name: a, uid: x}", 1)}, "error: app/a.yaml:1: the field metadata.uid is not allowed"},
		"a patch of a new field": {[]string{"app/kustomization.yaml", "patches: [{target: {name: a}, patch: '- {op: add, path: /extra, value: b}'}]"}, `error: app/kustomization.yaml:1: patch:1: a JSON patch may change only spec, status, metadata.labels and metadata.annotations, not "/extra"`},
		"a repeated key":         {[]string{"app/kustomization.yaml", "resources: []\nresources: [a.yaml]"}, `error: app/kustomization.yaml:2: the key "resources" appears twice in one mapping`},
		"deep nesting":           {[]string{"app/kustomization.yaml", "resources: [a.yaml]", "app/a.yaml", "a: " + strings.Repeat("[", 200) + strings.Repeat("]", 200)}, "error: app/a.yaml:1: mappings and lists are nested more than 100 times"},
	} {
		t.Run(name, func(t *testing.T) {
			got, isPrefix := build(t, tree(tc.files...)), strings.HasSuffix(tc.want, ": ")
			if got != tc.want && (!isPrefix || !strings.HasPrefix(got, tc.want)) {
				t.Errorf("got  %s\nwant %s", got, tc.want)
			}
		})
	}
}

// TestValues checks that strings stay unchanged, and that integers are int64. If an integer has another integer type,
// such as int, the method DeepCopy of the Kubernetes type unstructured.Unstructured panics.
func TestValues(t *testing.T) {
	script := "set -e\n\n  indented  \nif true; then\n\techo '#'  # end\nfi\n<>&"
	text, err := json.Marshal(script)
	if err != nil {
		t.Fatal(err)
	}
	const rare = "\u2028\u0085\u007f\uffff\ufffe\u009f"
	patch := fmt.Sprintf("- {op: add, path: /spec/trainer/args, value: [%s]}\n", text)
	objects, err := Build(tree(
		"app/kustomization.yaml", "# comment\nresources: [a.yaml]\npatches:\n- target: {kind: TrainJob}\n  patch: |\n    "+patch,
		"app/a.yaml", strings.Replace(job("a"), "numNodes: 2", "numNodes: 2, command: ["+string(text)+`, "\u2028\u0085\u007f\uffff\ufffe\u009f"]`, 1)), "app", DefaultLimits)
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]any{"numNodes": int64(2), "command": []any{script, rare}, "args": []any{script}}
	trainer, _, err := unstructured.NestedMap(objects[0].Fields, "spec", "trainer")
	if diff := cmp.Diff(want, trainer); diff != "" || err != nil {
		t.Errorf("error %v, -want +got:\n%s", err, diff)
	}
}

func TestA1Links(t *testing.T) {
	for _, field := range []string{"resources: [link.yaml]", "patches: [{path: link.yaml}]"} {
		files := tree("app/kustomization.yaml", field, "secret.yaml", job("a"))
		files["app/link.yaml"] = &fstest.MapFile{Data: []byte("../secret.yaml"), Mode: fs.ModeSymlink}
		if got, want := build(t, files), "error: app/kustomization.yaml:1: app/link.yaml is not a regular file of the commit"; got != want {
			t.Errorf("%s: got %s, want %s", field, got, want)
		}
	}
}

// TestForbiddenFields checks that Build refuses fields that are not allowed. With some of these fields, kustomize would
// read other kinds of files, start programs or repeat values. Other forbidden fields, such as "Resources", differ from
// an allowed field only in upper-case letters.
func TestForbiddenFields(t *testing.T) {
	for _, field := range []string{
		"crds", "openapi", "configMapGenerator", "secretGenerator", "generatorOptions", "helmGlobals", "helmCharts", "helmChartInflationGenerator",
		"configurations", "generators", "transformers", "validators", "replacements", "replicas", "vars", "buildMetadata", "Resources", "RESOURCES",
	} {
		want := fmt.Sprintf("error: app/kustomization.yaml:2: the field %q is not allowed in the kustomization of a TrainJobSource", field)
		if got := build(t, tree("app/kustomization.yaml", "kind: Kustomization\n"+field+": [x]")); got != want {
			t.Errorf("%s: got %s", field, got)
		}
	}
	want := `error: app/kustomization.yaml:1: the field "Path" is not allowed in a patch`
	if got := build(t, tree("app/kustomization.yaml", "patches: [{Path: x}]")); got != want {
		t.Errorf("got %s", got)
	}
}

// TestRemoteResources checks that Build refuses addresses that kustomize could fetch. Build must neither start git nor
// open a connection.
func TestRemoteResources(t *testing.T) {
	requests := 0
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { requests++ }))
	defer server.Close()
	started := filepath.Join(t.TempDir(), "started")
	programs := t.TempDir()
	if err := os.WriteFile(filepath.Join(programs, "git"), []byte("#!/bin/sh\ntouch "+started+"\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", programs+":"+os.Getenv("PATH"))
	host, _, err := net.SplitHostPort(server.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	for _, address := range []string{
		server.URL + "/a.yaml", server.URL + "/a/b.git", "HTTP://" + host + "/a", "http:a.yaml", "github.com/a/b", "GitHub.com/a/b?ref=v1", "github.com:a/b", "git::https://" + host + "/a/b",
		"git@" + host + ":a/b.git", "ssh://git@" + host + "/a/b", "file:///etc", "a//b", "./../app//x",
	} {
		for _, field := range []string{"resources: [%q]", "components: [%q]", "patches: [{path: %q}]"} {
			files := tree("app/kustomization.yaml", fmt.Sprintf(field, address), "app/"+strings.Trim(address, "./"), job("a"))
			if got := build(t, files); !strings.Contains(got, "remote resources are not allowed") {
				t.Errorf(field+": got %s", address, got)
			}
		}
	}
	if _, err := os.Stat(started); requests > 0 || err == nil {
		t.Errorf("%d requests, git started: %v", requests, err == nil)
	}
}

func keys(count int) string {
	var text strings.Builder
	for i := range count {
		fmt.Fprintf(&text, "  key-%d: x\n", i)
	}
	return text.String()
}

// TestLimits checks that Build quickly refuses kustomizations that are too large, or that are small but multiply
// their contents.
func TestLimits(t *testing.T) {
	doubling := []string{"app/kustomization.yaml", "resources: [../l0]"}
	for level := range 40 {
		base := fmt.Sprintf("resources: [../l%d]\n", level+1)
		doubling = append(doubling, fmt.Sprintf("l%d/kustomization.yaml", level), fmt.Sprintf("resources: [../a%d, ../b%d]", level, level),
			fmt.Sprintf("a%d/kustomization.yaml", level), base+"nameSuffix: -a", fmt.Sprintf("b%d/kustomization.yaml", level), base+"nameSuffix: -b")
	}
	doubling = append(doubling, "l40/kustomization.yaml", "resources: [a.yaml]", "l40/a.yaml", job("a"))
	const tooLong = "the build would take too long: use fewer patches, labels, images or objects"
	chain := []string{"app/kustomization.yaml", "resources: [../l0]", "l25/kustomization.yaml", "resources: [a.yaml]", "l25/a.yaml", job("a")}
	for level := range 25 {
		chain = append(chain, fmt.Sprintf("l%d/kustomization.yaml", level), fmt.Sprintf("resources: [../l%d]\n", level+1))
	}
	const expression = `target: name: want at most 200 ASCII characters, without "{", "}", "(?", "\p" and "\P"`
	var many strings.Builder
	for i := range 250 {
		many.WriteString(job(fmt.Sprintf("job-%d", i)) + "---\n")
	}
	components := []string{"app/kustomization.yaml", "resources: [a.yaml]\ncomponents:\n", "app/a.yaml", many.String()}
	for i := range 110 {
		components[1] += fmt.Sprintf("- ../c%d\n", i)
		components = append(components, fmt.Sprintf("c%d/kustomization.yaml", i), "kind: Component")
	}
	levels := []string{"app/kustomization.yaml", "resources: [../l4]"}
	for level := range 4 { // each level adds 600 values to the same object, whose name grows
		patch := strings.Replace(job(strings.Repeat("p-", level)+"a"), "{trainer: {numNodes: 2}}", fmt.Sprintf("{a%d: [%s]}", level, strings.Repeat("1, ", 600)), 1)
		levels = append(levels, fmt.Sprintf("l%d/kustomization.yaml", level+1), fmt.Sprintf("resources: [../l%d]\nnamePrefix: p-\npatches: [{path: p.yaml}]", level), fmt.Sprintf("l%d/p.yaml", level+1), patch)
	}
	long := fmt.Sprintf("spec: {a: %s}\n", strings.Repeat("a", 1<<19-200))
	longValues := []string{
		"app/kustomization.yaml", "resources: [a.yaml, b.yaml]\npatches:\n" + strings.Repeat("- {target: {kind: TrainJob}, patch: '[]'}\n", 40),
		"app/a.yaml", strings.Replace(job("a"), "spec: {trainer: {numNodes: 2}}\n", long, 1), "app/b.yaml", strings.Replace(job("b"), "spec: {trainer: {numNodes: 2}}\n", long, 1),
	}
	for name, tc := range map[string]struct {
		files []string
		want  string
	}{
		"many annotations":           {[]string{"app/kustomization.yaml", "resources: [a.yaml]\ncommonAnnotations:\n" + keys(1100), "app/a.yaml", job("a")}, "app: the labels, annotations and patches could add more than the allowed 2000 values to an object"},
		"many resources":             {[]string{"app/kustomization.yaml", "resources: [" + strings.Repeat("a, ", 19_000) + "]"}, "app: app/kustomization.yaml:1: resources: \"a\" is listed twice"},
		"many values":                {[]string{"app/kustomization.yaml", "resources: [a.yaml]", "app/a.yaml", strings.Repeat(job("a")+"status: ["+strings.Repeat("1, ", 1900)+"]\n---\n", 60)}, "app: app/a.yaml: more than 60000 values in one file"},
		"many documents":             {[]string{"app/kustomization.yaml", "patches: [{path: p.yaml, target: {kind: TrainJob}}]", "app/p.yaml", strings.Repeat("--- []\n", 70_000)}, "app: app/p.yaml: more than 1000 objects or patches in one file"},
		"long names of images":       {[]string{"app/kustomization.yaml", "resources: [a.yaml]\nimages: [" + strings.Repeat("{name: "+strings.Repeat("a", 250)+"}, ", 3) + "]", "app/a.yaml", many.String()}, "app: " + tooLong},
		"a chain of components":      {[]string{"app/kustomization.yaml", "components: [../a]", "a/kustomization.yaml", "kind: Component\ncomponents: [../b]", "b/kustomization.yaml", "kind: Component\nresources: [../c]", "c/kustomization.yaml", "components: [../d]", "d/kustomization.yaml", "kind: Component"}, "app: a chain of components, each of which uses the next one, may have at most 2 components"},
		"many components":            {components, "app: the kustomization uses more than 100 folders (each use of a folder counts)"},
		"patches of long values":     {longValues, "app: " + tooLong},
		"bases that double":          {doubling, "app: a4: the folders are nested too deeply: a chain of folders, each of which uses the next one, may have at most 10 folders"},
		"many objects":               {[]string{"app/kustomization.yaml", "resources: [a.yaml, b.yaml]", "app/a.yaml", many.String(), "app/b.yaml", strings.ReplaceAll(many.String(), "job-", "b-")}, "app: the kustomization has more than 300 objects"},
		"many patches":               {[]string{"app/kustomization.yaml", "resources: [a.yaml]\npatches:\n" + strings.Repeat("- {patch: '[]', target: {kind: TrainJob}}\n", 50), "app/a.yaml", many.String()}, "app: " + tooLong},
		"many patches in one file":   {[]string{"app/kustomization.yaml", "resources: [a.yaml]\npatches: [{path: b.yaml}]", "app/a.yaml", job("a"), "app/b.yaml", strings.Repeat(job("a")+"---\n", 500)}, "app: " + tooLong},
		"many images":                {[]string{"app/kustomization.yaml", "resources: [a.yaml]\nimages: [" + strings.Repeat("{}, ", 50) + "]", "app/a.yaml", many.String()}, "app: " + tooLong},
		"many labels":                {[]string{"app/kustomization.yaml", "resources: [a.yaml]\nlabels: [" + strings.Repeat("{}, ", 50) + "]", "app/a.yaml", many.String()}, "app: " + tooLong},
		"a component with patches":   {[]string{"app/kustomization.yaml", "resources: [a.yaml]\ncomponents: [../part]", "app/a.yaml", many.String(), "part/kustomization.yaml", "kind: Component\npatches:\n" + strings.Repeat("- {patch: '[]', target: {kind: TrainJob}}\n", 50)}, "app: " + tooLong},
		"a component with values":    {[]string{"app/kustomization.yaml", "resources: [a.yaml]\ncomponents: [../part]", "app/a.yaml", many.String(), "part/kustomization.yaml", "kind: Component\npatches: [{target: {kind: TrainJob}, patch: '- {op: add, path: /spec/a, value: [" + strings.Repeat("[], ", 300) + "]}'}]"}, "app: the objects could have more than the allowed 60000 values in total"},
		"a long chain":               {chain, "app: l9: the folders are nested too deeply: a chain of folders, each of which uses the next one, may have at most 10 folders"},
		"an expression":              {[]string{"app/kustomization.yaml", "patches: [{target: {name: '(a|a?){1000}'}, patch: '[]'}]"}, "app: app/kustomization.yaml:1: " + expression},
		"a long expression":          {[]string{"app/kustomization.yaml", "patches: [{target: {name: '" + strings.Repeat("(a?)", 100) + "'}, patch: '[]'}]"}, "app: app/kustomization.yaml:1: " + expression},
		"a class of letters":         {[]string{"app/kustomization.yaml", "patches: [{target: {name: '[\\pL]'}, patch: '[]'}]"}, "app: app/kustomization.yaml:1: " + expression},
		"a class without case":       {[]string{"app/kustomization.yaml", "patches: [{target: {name: '(?i)[B-Z]'}, patch: '[]'}]"}, "app: app/kustomization.yaml:1: " + expression},
		"a class of all characters":  {[]string{"app/kustomization.yaml", "patches: [{target: {name: '[B-\U000fffff]'}, patch: '[]'}]"}, "app: app/kustomization.yaml:1: " + expression},
		"patches of one object":      {append(levels, "l0/kustomization.yaml", "resources: [a.yaml]", "l0/a.yaml", job("a")), "app: l4: the labels, annotations and patches could add more than the allowed 2000 values to an object"},
		"a long name":                {[]string{"app/kustomization.yaml", "resources: [a.yaml]", "app/a.yaml", job(strings.Repeat("a", 254))}, "app: app/a.yaml:1: metadata.name: want at most 253 characters"},
		"a long prefix":              {[]string{"app/kustomization.yaml", "namePrefix: " + strings.Repeat("a", 254)}, "app: app/kustomization.yaml:1: namePrefix: want at most 253 characters"},
		"a large object":             {[]string{"app/kustomization.yaml", "resources: [a.yaml]", "app/a.yaml", job("a") + "status: [" + strings.Repeat("a, ", 2000) + "]"}, "app: app/a.yaml:1: the object or patch has more than 2000 values"},
		"A11, a large file":          {[]string{"app/kustomization.yaml", "resources: [a.yaml]", "app/a.yaml", "[" + strings.Repeat("a,", 1<<20) + "]"}, "app: app/kustomization.yaml:1: app/a.yaml has more than 512 KiB"},
		"A11, a large kustomization": {[]string{"app/kustomization.yaml", strings.Repeat("#", 1<<20+1)}, "app: app/kustomization.yaml has more than 512 KiB"},
		"large annotations":          {[]string{"app/kustomization.yaml", "resources: [a.yaml]\ncommonAnnotations: {a: " + strings.Repeat("x", 100_000) + "}", "app/a.yaml", many.String()}, "app: the labels, annotations and patches could add more than the allowed 8 MiB to the objects"},
	} {
		t.Run(name, func(t *testing.T) {
			began := time.Now()
			if got := build(t, tree(tc.files...)); got != "error: "+strings.TrimPrefix(tc.want, "app: ") && got != "error: "+tc.want {
				t.Errorf("got %s\nwant %s", got, tc.want)
			}
			if spent := time.Since(began); spent > 10*time.Second {
				t.Errorf("the refusal took %v", spent)
			}
		})
	}
}

// TestOnePatchPerJob checks that the limits allow a kustomization with 60 TrainJobs and a patch for each of them.
func TestOnePatchPerJob(t *testing.T) {
	var jobs, patches strings.Builder
	for i := range 60 {
		name := fmt.Sprintf("job-%d", i)
		jobs.WriteString(job(name) + "---\n")
		fmt.Fprintf(&patches, "- patch: |\n    apiVersion: trainer.kubeflow.org/v1alpha1\n    kind: TrainJob\n    metadata: {name: %s}\n    spec: {trainer: {numNodes: 3}}\n", name)
	}
	w := &walk{
		tree:   tree("app/kustomization.yaml", "resources: [a.yaml]\nnamePrefix: x-\nlabels: [{pairs: {a: b}}]\npatches:\n"+patches.String(), "app/a.yaml", jobs.String()),
		limits: DefaultLimits, copied: filesys.MakeFsInMemory(), origins: map[string]origin{}, marked: map[string]bool{}, folders: map[string]*total{},
	}
	if _, err := w.folder("app"); err != nil {
		t.Error(err)
	}
}
