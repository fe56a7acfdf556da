// Package cases reads TrainJobs with expected verdicts: unit tests of a platform's rules, without
// a cluster.
package cases

import (
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"

	"sigs.k8s.io/yaml"
)

// What a file of cases says of itself.
const (
	APIVersion = "trainyard.dev/v1alpha1"
	Kind       = "PolicyTest"
)

// somebody is who submits where a case does not say.
const somebody = "somebody"

// maxFile bounds what is read of a file, in bytes.
const maxFile = 1 << 20

// File is a file of cases.
type File struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	Cases      []Case `json:"cases"`
}

// Case is a TrainJob and what should become of it.
type Case struct {
	// Name is a sentence that says what is tried.
	Name string `json:"name"`
	// Tenant is the namespace that the TrainJob is for.
	Tenant string `json:"tenant"`
	// User submits it; "somebody" by default, who is not exempt from anything.
	User string `json:"user,omitempty"`
	// Before is the TrainJob that is updated; without it, one is created.
	Before map[string]any `json:"before,omitempty"`
	// TrainJob is the TrainJob; its apiVersion, kind, name and namespace may be left out.
	TrainJob map[string]any `json:"trainJob"`
	// Admitted says that it is admitted, and Refused by which rules it is not, in their order; one of both is given.
	Admitted bool     `json:"admitted,omitempty"`
	Refused  []string `json:"refused,omitempty"`
	// Says is what the message for the first of these rules must have in it.
	Says string `json:"says,omitempty"`
}

// Read reads the files *.yaml and *.yml of a folder, by their paths. A folder without any
// cases is an error: a test must not pass because nothing was tried.
func Read(folder string) (map[string][]Case, error) {
	entries, err := os.ReadDir(folder)
	if err != nil {
		return nil, fmt.Errorf("reading cases: %w", err)
	}
	all := map[string][]Case{}
	for _, entry := range entries {
		if ext := filepath.Ext(entry.Name()); entry.IsDir() || ext != ".yaml" && ext != ".yml" {
			continue
		}
		path := filepath.Join(folder, entry.Name())
		if all[path], err = readFile(path, entry); err != nil {
			return nil, fmt.Errorf("reading %s: %w", path, err)
		}
	}
	if len(all) == 0 {
		return nil, fmt.Errorf("reading cases: %s has no file *.yaml", folder)
	}
	return all, nil
}

func readFile(path string, entry fs.DirEntry) ([]Case, error) {
	info, err := entry.Info()
	if err != nil {
		return nil, err
	}
	if info.Size() > maxFile {
		return nil, fmt.Errorf("want at most %d KiB", maxFile>>10)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var file File
	if err := yaml.UnmarshalStrict(text, &file); err != nil {
		return nil, err
	}
	if file.APIVersion != APIVersion || file.Kind != Kind {
		return nil, fmt.Errorf("want apiVersion: %s and kind: %s", APIVersion, Kind)
	}
	return file.Cases, check(file.Cases)
}

// check finds cases that test nothing.
func check(all []Case) error {
	if len(all) == 0 {
		return errors.New("no cases")
	}
	seen := map[string]bool{}
	for i := range all {
		c := &all[i]
		switch {
		case c.Name == "" || seen[c.Name]:
			return fmt.Errorf("case %d: want a name of its own, got %q", i+1, c.Name)
		case c.Tenant == "" || c.TrainJob == nil:
			return fmt.Errorf("case %q: want tenant and trainJob", c.Name)
		case c.Admitted == (len(c.Refused) > 0):
			return fmt.Errorf("case %q: want either admitted: true or refused: [RULE, ...]", c.Name)
		case c.Admitted && c.Says != "":
			return fmt.Errorf("case %q: what is admitted says nothing", c.Name)
		}
		seen[c.Name] = true
		*c = c.Completed()
	}
	return nil
}

// Completed is a case with integers for numbers that are, and whatever may be left out.
func (c Case) Completed() Case {
	if c.User == "" {
		c.User = somebody
	}
	c.Before, _ = whole(c.Before).(map[string]any)
	c.TrainJob, _ = whole(c.TrainJob).(map[string]any)
	for _, job := range []map[string]any{c.Before, c.TrainJob} {
		complete(job, c.Tenant)
	}
	return c
}

// whole makes integers of numbers that are, as the API server has them.
func whole(value any) any {
	switch value := value.(type) {
	case map[string]any:
		for key, inner := range value {
			value[key] = whole(inner)
		}
	case []any:
		for i, inner := range value {
			value[i] = whole(inner)
		}
	case float64:
		if value == math.Trunc(value) && math.Abs(value) < 1<<53 {
			return int64(value)
		}
	}
	return value
}

// complete fills in what every TrainJob says of itself, and what the API server defaults.
func complete(job map[string]any, tenant string) {
	if job == nil {
		return
	}
	fill := func(in map[string]any, key string, value any) map[string]any {
		if in[key] == nil {
			in[key] = value
		}
		inner, _ := in[key].(map[string]any)
		return inner
	}
	fill(job, "apiVersion", "trainer.kubeflow.org/v1alpha1")
	fill(job, "kind", "TrainJob")
	if metadata := fill(job, "metadata", map[string]any{}); metadata != nil {
		fill(metadata, "name", "job")
		fill(metadata, "namespace", tenant)
	}
	spec := fill(job, "spec", map[string]any{})
	if spec == nil {
		return
	}
	fill(spec, "managedBy", "trainer.kubeflow.org/trainjob-controller")
	if ref := fill(spec, "runtimeRef", map[string]any{}); ref != nil {
		fill(ref, "apiGroup", "trainer.kubeflow.org")
		fill(ref, "kind", "ClusterTrainingRuntime")
	}
}
