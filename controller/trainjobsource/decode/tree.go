package decode

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"slices"
	"strings"
	"unicode"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/trainyard/trainyard/controller/trainjobsource/kustomization"
)

// Limits contains the limits for the folder of a TrainJobSource. If a folder exceeds one of the limits, Read
// returns an error and no TrainJobs.
type Limits struct {
	Entries   int   // files and folders of any kind
	Files     int   // YAML and JSON files
	FileBytes int64 // of one file
	Bytes     int64 // of all files together
	Jobs      int   // TrainJobs
	Values    int   // mappings, lists and scalars in all files together; keys count too
	Problems  int   // mistakes

	Kustomization kustomization.Limits
}

// DefaultLimits allows folders that are far larger than hand-written folders. Even a folder that reaches the
// limits needs only a small part of the controller's memory.
var DefaultLimits = Limits{
	Entries: 20_000, Files: 2000, FileBytes: 1 << 20, Bytes: 32 << 20, Jobs: 1000, Values: 500_000, Problems: 1000,
	Kustomization: kustomization.DefaultLimits,
}

// Problem is a mistake in a file.
type Problem struct {
	File    string // relative to the root of the tree
	Line    int    // counted from 1; 0 if the problem concerns the whole file
	Message string
}

// Tree is the result of reading a folder. If Problems is not empty, Jobs may lack TrainJobs that are in Git, so
// the caller must not treat a missing TrainJob as removed.
type Tree struct {
	Jobs     []Job // sorted by name
	Problems []Problem
}

// Read returns the TrainJobs in a folder of a commit, for a TrainJobSource in the given namespace. If the folder contains
// a kustomization, Read builds it. If the folder contains no kustomization, Read reads all YAML and JSON files of the
// folder and its subfolders.
//
// Read returns an error if the folder exceeds a limit, contains a forbidden file, or cannot be read or built. After an
// error, the caller does not know which TrainJobs the folder contains, so it must neither create nor delete TrainJobs
// in the cluster. If none of these errors occurs, but some files or objects contain mistakes, Read lists these mistakes
// in Tree.Problems, and returns no error.
func Read(tree fs.FS, folder, namespace string, limits Limits) (Tree, error) {
	if _, err := fs.Stat(tree, folder); errors.Is(err, fs.ErrNotExist) {
		return Tree{}, errors.New("the commit does not contain this folder: correct spec.path, or commit an empty file such as .gitkeep in the folder, because Git stores no empty folders")
	}
	read := readFiles
	for _, name := range kustomization.Names {
		if _, err := fs.Stat(tree, path.Join(folder, name)); err == nil {
			read = buildKustomization
		}
	}
	result, err := read(tree, folder, namespace, limits)
	if err != nil {
		return Tree{}, err
	}
	if err := result.check(limits); err != nil {
		return Tree{}, err
	}
	result.refuseDuplicates()
	return result, nil
}

// buildKustomization reads the TrainJobs of a kustomization.
func buildKustomization(tree fs.FS, folder, namespace string, limits Limits) (result Tree, err error) {
	objects, err := kustomization.Build(tree, folder, limits.Kustomization)
	if err != nil {
		return Tree{}, err
	}
	for _, object := range objects {
		job := Job{object.File, object.Line, &unstructured.Unstructured{Object: object.Fields}}
		if err := checkObject(job.Object, namespace); err != nil {
			result.Problems = append(result.Problems, Problem{job.File, job.Line, err.Error()})
			continue
		}
		job.Object.SetNamespace(namespace)
		result.Jobs = append(result.Jobs, job)
	}
	return result, nil
}

// readFiles reads the TrainJobs of all YAML and JSON files of a folder.
func readFiles(tree fs.FS, folder, namespace string, limits Limits) (result Tree, err error) {
	files, err := listFiles(tree, folder, limits)
	if err != nil {
		return Tree{}, err
	}
	var total int64
	values := 0
	for _, file := range files {
		text, err := readFile(tree, file, limits.FileBytes)
		if err != nil {
			return Tree{}, err
		}
		if total += int64(len(text)); total > limits.Bytes {
			return Tree{}, fmt.Errorf("the files have more than %d MiB in total", limits.Bytes>>20)
		}
		jobs, problems, count := readObjects(file, text, namespace, limits.Problems)
		result.Jobs = append(result.Jobs, jobs...)
		result.Problems = append(result.Problems, problems...)
		if values += count; values > limits.Values {
			return Tree{}, fmt.Errorf("the files have more than %d values in total", limits.Values)
		}
		if err := result.check(limits); err != nil {
			return Tree{}, err
		}
	}
	return result, nil
}

// check returns an error if a tree has too many TrainJobs or problems.
func (t *Tree) check(limits Limits) error {
	switch {
	case len(t.Problems) > limits.Problems:
		first := t.Problems[0]
		return fmt.Errorf("the folder has more than %d mistakes; the first is in %s:%d: %s", limits.Problems, first.File, first.Line, first.Message)
	case len(t.Jobs) > limits.Jobs:
		return fmt.Errorf("the folder has more than %d TrainJobs", limits.Jobs)
	}
	return nil
}

// listFiles returns the paths of all YAML and JSON files, sorted. Hidden files and folders, such as .github, are left
// out.
func listFiles(tree fs.FS, folder string, limits Limits) ([]string, error) {
	var files []string
	entries := 0
	folded := map[string]string{}
	err := fs.WalkDir(tree, folder, func(file string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entries++; entries > limits.Entries {
			return fmt.Errorf("the folder has more than %d files and folders", limits.Entries)
		}
		name := entry.Name()
		if hidden := strings.HasPrefix(name, ".") && file != folder; hidden && entry.IsDir() {
			return fs.SkipDir
		} else if hidden {
			return nil
		}
		if err := checkPath(file, entry, folded); err != nil {
			return err
		}
		if !entry.IsDir() && slices.Contains([]string{".yaml", ".yml", ".json"}, path.Ext(name)) {
			files = append(files, file)
		}
		if len(files) > limits.Files {
			return fmt.Errorf("the folder has more than %d YAML and JSON files", limits.Files)
		}
		return nil
	})
	return files, err
}

// checkPath refuses everything except regular files and folders. For example, it refuses symbolic links, because they
// could point to files outside the folder. checkPath also refuses names that a reviewer can mistake for another name:
// names with invisible characters or invalid UTF-8, and names that differ only in upper and lower case. The map
// "folded" contains the paths that were already checked. Each key of this map is a path in lower case, and its value is
// the original path.
func checkPath(file string, entry fs.DirEntry, folded map[string]string) error {
	if kind := entry.Type(); kind != 0 && kind != fs.ModeDir {
		return fmt.Errorf("%q is a link or a special file: only regular files and folders are allowed", file)
	}
	if strings.ContainsFunc(file, func(r rune) bool {
		return unicode.IsControl(r) || r == unicode.ReplacementChar || unicode.Is(unicode.Cf, r)
	}) {
		return fmt.Errorf("the name %q contains invisible characters or invalid UTF-8", file)
	}
	lower := strings.ToLower(file)
	if other, exists := folded[lower]; exists {
		return fmt.Errorf("the names %q and %q differ only in upper and lower case", other, file)
	}
	folded[lower] = file
	return nil
}

// readFile reads a file, and returns an error if the file is larger than the limit.
func readFile(tree fs.FS, file string, limit int64) (text []byte, err error) {
	f, err := tree.Open(file)
	if err != nil {
		return nil, fmt.Errorf("reading the commit: %w", err)
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	text, err = io.ReadAll(io.LimitReader(f, limit+1))
	switch {
	case err != nil:
		return nil, fmt.Errorf("reading %s: %w", file, err)
	case int64(len(text)) > limit:
		return nil, fmt.Errorf("%s has more than %d KiB", file, limit>>10)
	}
	return text, nil
}

// refuseDuplicates sorts the jobs by name to find jobs with the same name. refuseDuplicates removes all jobs whose name
// is not unique, and adds a problem for each removed job.
func (t *Tree) refuseDuplicates() {
	slices.SortStableFunc(t.Jobs, func(a, b Job) int { return cmp.Compare(a.Name(), b.Name()) })
	var unique []Job
	for first := 0; first < len(t.Jobs); {
		end := first + 1
		for end < len(t.Jobs) && t.Jobs[end].Name() == t.Jobs[first].Name() {
			end++
		}
		if end == first+1 {
			unique = append(unique, t.Jobs[first])
		}
		for i := first; end > first+1 && i < end; i++ {
			other := t.Jobs[first]
			if i == first {
				other = t.Jobs[first+1]
			}
			t.Problems = append(t.Problems, Problem{t.Jobs[i].File, t.Jobs[i].Line,
				fmt.Sprintf("TrainJob %s is also in %s:%d: a name can appear only once", t.Jobs[i].Name(), other.File, other.Line)})
		}
		first = end
	}
	t.Jobs = unique
}
