package decode

import (
	"fmt"
	"io/fs"
	"runtime"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
)

func job(name, more string) string {
	return fmt.Sprintf("apiVersion: trainer.kubeflow.org/v1alpha1\nkind: TrainJob\nmetadata: {name: %s}\n%s", name, more)
}

func file(text string) *fstest.MapFile { return &fstest.MapFile{Data: []byte(text)} }

func read(t *testing.T, tree fs.FS) string {
	t.Helper()
	result, err := Read(tree, ".", "team-a", DefaultLimits)
	if err != nil {
		return "error: " + err.Error()
	}
	var lines []string
	for _, j := range result.Jobs {
		if j.Object.GetNamespace() != "team-a" {
			t.Errorf("%s is in namespace %q", j.Name(), j.Object.GetNamespace())
		}
		lines = append(lines, fmt.Sprintf("%s at %s:%d", j.Name(), j.File, j.Line))
	}
	for _, p := range result.Problems {
		lines = append(lines, fmt.Sprintf("%s:%d: %s", p.File, p.Line, p.Message))
	}
	return strings.Join(lines, "\n")
}

func TestRead(t *testing.T) {
	bomb := "a: &a [x, x, x, x, x, x, x, x, x]\n"
	for i := 'b'; i < 'j'; i++ {
		bomb += fmt.Sprintf("%c: &%c [*%c, *%c, *%c, *%c, *%c, *%c, *%c, *%c, *%c]\n", i, i, i-1, i-1, i-1, i-1, i-1, i-1, i-1, i-1, i-1)
	}
	for name, tc := range map[string]struct {
		tree fstest.MapFS
		want string
	}{
		"two files":                   {fstest.MapFS{"b/two.yml": file(job("two", "")), "one.yaml": file(job("one", ""))}, "one at one.yaml:1\ntwo at b/two.yml:1"},
		"two documents":               {fstest.MapFS{"a.yaml": file("---\n" + job("one", "---\n# nothing\n---\n"+job("two", "")))}, "one at a.yaml:2\ntwo at a.yaml:8"},
		"JSON":                        {fstest.MapFS{"a.json": file(`{"apiVersion": "trainer.kubeflow.org/v1alpha1", "kind": "TrainJob", "metadata": {"name": "one"}}`)}, "one at a.json:1"},
		"other and hidden files":      {fstest.MapFS{"README.md": file("#"), ".github/a.yaml": file("a: b"), ".hidden.yaml": file("a: b")}, ""},
		"another kind":                {fstest.MapFS{"a.yaml": file("apiVersion: v1\nkind: Secret"), "b.yaml": file(job("one", ""))}, "one at b.yaml:1\na.yaml:1: an object with apiVersion v1 and kind Secret is not allowed: a TrainJobSource applies only TrainJobs of apiVersion trainer.kubeflow.org/v1alpha1"},
		"invalid YAML":                {fstest.MapFS{"a.yaml": file("a: b\n\tc: d"), "b.yaml": file(job("one", ""))}, "one at b.yaml:1\na.yaml:2: found a tab character that violates indentation"},
		"no mapping":                  {fstest.MapFS{"a.yaml": file("[]")}, "a.yaml:1: want a mapping with the fields of a TrainJob, such as apiVersion and kind"},
		"a repeated key":              {fstest.MapFS{"a.yaml": file(job("one", "kind: TrainJob\n"))}, "a.yaml:4: the key \"kind\" appears twice in one mapping"},
		"A12, aliases without end":    {fstest.MapFS{"a.yaml": file(bomb)}, "a.yaml:1: anchors and aliases are not allowed: write the value itself"},
		"A12, aliases of a long text": {fstest.MapFS{"a.yaml": file(job("one", "spec: {a: &a \""+strings.Repeat("x", 1<<19)+"\", b: ["+strings.Repeat("*a, ", 100_000)+"]}"))}, "a.yaml:4: anchors and aliases are not allowed: write the value itself"},
		"another namespace":           {fstest.MapFS{"a.yaml": file(strings.Replace(job("one", ""), "{name: one}", "{name: one, namespace: team-b}", 1))}, "a.yaml:1: metadata.namespace: want the namespace team-a of the TrainJobSource, got team-b: correct the namespace, or leave it out"},
		"no name":                     {fstest.MapFS{"a.yaml": file(strings.Replace(job("one", ""), "name:", "generateName:", 1))}, "a.yaml:1: a TrainJob in Git needs metadata.name, and must not have metadata.generateName"},
		"a label that is a number":    {fstest.MapFS{"a.yaml": file(strings.Replace(job("one", ""), "{name: one}", "{name: one, labels: {cost-center: 4711, a: b}}", 1))}, `a.yaml:1: metadata.labels: the value of "cost-center" is not a string: put it in quotes`},
		"an annotation without value": {fstest.MapFS{"a.yaml": file(strings.Replace(job("one", ""), "{name: one}", "{name: one, annotations: {a: }}", 1))}, `a.yaml:1: metadata.annotations: the value of "a" is not a string: write "" for an empty string`},
		"labels in a list":            {fstest.MapFS{"a.yaml": file(strings.Replace(job("one", ""), "{name: one}", "{name: one, labels: [a]}", 1))}, "a.yaml:1: metadata.labels: want a mapping"},
		"a name that is a number":     {fstest.MapFS{"a.yaml": file(job("1", ""))}, "a.yaml:1: metadata.name: want a string: put it in quotes"},
		"a spec without content":      {fstest.MapFS{"a.yaml": file(job("one", "spec: [a]"))}, "a.yaml:1: spec: want a mapping"},
		"an invalid name":             {fstest.MapFS{"a.yaml": file(job("One", ""))}, `a.yaml:1: metadata.name: want at most 63 lower-case letters, digits and "-", starting and ending with a letter or digit, got "One"`},
		"a time of kubectl":           {fstest.MapFS{"a.yaml": file(strings.Replace(job("one", ""), "{name: one}", "{name: one, creationTimestamp: null}", 1))}, "one at a.yaml:1"},
		"no kind":                     {fstest.MapFS{"a.yaml": file("name: one")}, "a.yaml:1: the field apiVersion is missing: a TrainJob has the apiVersion trainer.kubeflow.org/v1alpha1"},
		"an owner":                    {fstest.MapFS{"a.yaml": file(strings.Replace(job("one", ""), "{name: one}", "{name: one, ownerReferences: []}", 1))}, "a.yaml:1: metadata.ownerReferences is not allowed: only name, namespace, labels and annotations can be set in Git"},
		"one name in two files":       {fstest.MapFS{"a.yaml": file(job("one", "")), "b.yaml": file(job("two", "---\n"+job("one", "")))}, "two at b.yaml:1\na.yaml:1: TrainJob one is also in b.yaml:5: a name can appear only once\nb.yaml:5: TrainJob one is also in a.yaml:1: a name can appear only once"},
		"A1, a link":                  {fstest.MapFS{"a.yaml": {Data: []byte("/etc/passwd"), Mode: fs.ModeSymlink}}, `error: "a.yaml" is a link or a special file: only regular files and folders are allowed`},
		"A27, twins":                  {fstest.MapFS{"Job.yaml": file(job("one", "")), "job.yaml": file(job("two", ""))}, `error: the names "Job.yaml" and "job.yaml" differ only in upper and lower case`},
		"A27, an invisible character": {fstest.MapFS{"a\u200b.yaml": file(job("one", ""))}, "error: the name \"a\\u200b.yaml\" contains invisible characters or invalid UTF-8"},
		"A11, a large file":           {fstest.MapFS{"a.yaml": file(strings.Repeat("#", 1<<20+1))}, "error: a.yaml has more than 1024 KiB"},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, read(t, tc.tree)); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

func TestLimits(t *testing.T) {
	tree := fstest.MapFS{"a.yaml": file(job("one", "")), "b.yaml": file("---\n[]\n---\n" + job("two", ""))}
	for name, tc := range map[string]struct {
		limits Limits
		want   string
	}{
		"entries":  {Limits{Entries: 2, Files: 9, FileBytes: 1000, Bytes: 1 << 20, Jobs: 9}, "the folder has more than 2 files and folders"},
		"files":    {Limits{Entries: 9, Files: 1, FileBytes: 1000, Bytes: 1 << 20, Jobs: 9}, "the folder has more than 1 YAML and JSON files"},
		"bytes":    {Limits{Entries: 9, Files: 9, FileBytes: 1000, Bytes: 100, Values: 99, Jobs: 9}, "the files have more than 0 MiB in total"},
		"mistakes": {Limits{Entries: 9, Files: 9, FileBytes: 1000, Bytes: 1 << 20, Values: 99, Jobs: 9}, "the folder has more than 0 mistakes; the first is in b.yaml:2: want a mapping with the fields of a TrainJob, such as apiVersion and kind"},
		"jobs":     {Limits{Entries: 9, Files: 9, FileBytes: 1000, Bytes: 1 << 20, Values: 99, Jobs: 1, Problems: 9}, "the folder has more than 1 TrainJobs"},
		"values":   {Limits{Entries: 9, Files: 9, FileBytes: 1000, Bytes: 1 << 20, Values: 15, Jobs: 9, Problems: 9}, "the files have more than 15 values in total"},
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := Read(tree, ".", "team-a", tc.limits); err == nil || err.Error() != tc.want {
				t.Errorf("Read() = %v, want %s", err, tc.want)
			}
		})
	}
}

// TestFolder checks that Read reads only the files in the given folder, and returns file names relative to the root
// of the tree.
func TestFolder(t *testing.T) {
	tree := fstest.MapFS{"a.yaml": file(job("one", "")), "jobs/b.yaml": file(job("two", "")), "jobs/c.yaml": file("a: [")}
	got, err := Read(tree, "jobs", "team-a", DefaultLimits)
	if err != nil || len(got.Jobs) != 1 || got.Jobs[0].File != "jobs/b.yaml" || len(got.Problems) != 1 || got.Problems[0].File != "jobs/c.yaml" {
		t.Errorf("Read() = %+v, error %v", got, err)
	}
	if _, err := Read(tree, "nowhere", "team-a", DefaultLimits); err == nil || !strings.Contains(err.Error(), "such as .gitkeep") {
		t.Errorf("a missing folder: error %v, want an error that says how to keep it", err)
	}
	if got, err := Read(fstest.MapFS{"jobs/.gitkeep": file("")}, "jobs", "team-a", DefaultLimits); err != nil || len(got.Jobs)+len(got.Problems) > 0 {
		t.Errorf("an empty folder: %+v, error %v", got, err)
	}
}

// TestKustomization checks that the objects of a kustomization pass the same checks as objects in single files.
func TestKustomization(t *testing.T) {
	got := read(t, fstest.MapFS{
		"kustomization.yaml": file("resources: [a.yaml]\nnamePrefix: x-\n"),
		"a.yaml":             file(job("one", "") + "---\n" + strings.Replace(job("two", ""), "{name: two}", "{name: two, namespace: team-b}", 1)),
		"unused.yaml":        file("a: ["),
	})
	want := "x-one at a.yaml:1\na.yaml:5: metadata.namespace: want the namespace team-a of the TrainJobSource, got team-b: correct the namespace, or leave it out"
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// TestSmallFilesWithLargeErrors: reading a file of less than 1 MiB must not allocate more than 500 MiB. Without the
// checks of package safeyaml, the YAML library would exceed this limit for some files. If a file repeats a key many
// times, the library returns an error that names each pair of equal keys. If a file has comments in deeply nested
// lists, the library indents each comment when it writes the parsed YAML again. The long error and the indented
// comments need much memory.
func TestSmallFilesWithLargeErrors(t *testing.T) {
	for name, tc := range map[string]struct{ text, want string }{
		"repeated keys":           {job("one", "spec:\n"+strings.Repeat("  a: b\n", 100_000)), `a.yaml:6: the key "a" appears twice in one mapping`},
		"comments in deep lists":  {job("one", "spec: "+strings.Repeat("[ # comment\n", 90)+strings.Repeat("]", 90)), "a.yaml:1: spec: want a mapping"},
		"comments in deeper list": {job("one", "spec: "+strings.Repeat("[ # comment\n", 9000)+strings.Repeat("]", 9000)), "a.yaml:104: mappings and lists are nested more than 100 times"},
		"many values":             {job("one", "spec: {a: ["+strings.Repeat("x,", 300_000)+"]}"), "a.yaml:4: the object has more than 20000 values"},
	} {
		t.Run(name, func(t *testing.T) {
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			if got := read(t, fstest.MapFS{"a.yaml": file(tc.text)}); got != tc.want {
				t.Errorf("got %.300s, want %s", got, tc.want)
			}
			runtime.ReadMemStats(&after)
			if used, most := (after.TotalAlloc-before.TotalAlloc)>>20, uint64(500); used > most {
				t.Errorf("reading %d KiB allocated %d MiB, want at most %d MiB", len(tc.text)>>10, used, most)
			}
		})
	}
}

// TestValues checks that decoding changes no value: large integers keep all digits, and a date stays a string, as with
// kubectl.
func TestValues(t *testing.T) {
	tree, err := Read(fstest.MapFS{"a.yaml": file(job("one", "spec: {trainer: {numNodes: 4, big: 9007199254740993, date: 2024-01-01}}"))}, ".", "team-a", DefaultLimits)
	if err != nil || len(tree.Jobs) != 1 {
		t.Fatalf("got %+v, error %v", tree, err)
	}
	trainer := tree.Jobs[0].Object.Object["spec"].(map[string]any)["trainer"]
	if diff := cmp.Diff(map[string]any{"numNodes": int64(4), "big": int64(9007199254740993), "date": "2024-01-01"}, trainer); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}
