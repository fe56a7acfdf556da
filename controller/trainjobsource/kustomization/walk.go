package kustomization

import (
	"bytes"
	"fmt"
	"io/fs"
	"path"

	"go.yaml.in/yaml/v3"
	"sigs.k8s.io/kustomize/kyaml/filesys"
)

// walk copies the files of a kustomization, and measures how much work the build will be.
type walk struct {
	tree    fs.FS
	limits  Limits
	read    int64 // bytes of all files that were read
	copied  filesys.FileSystem
	lines   map[string]map[string]int // the first line of each object, by file and metadata.name
	folders map[string]*total         // the work of each folder that was entered; nil until the folder is finished
}

// total is the work of building a folder and the folders that it includes, as in Limits.
type total struct{ bytes, objects, patched, added int64 }

// add adds the work of an included folder. The numbers stop growing far above all limits. Otherwise, they would overflow in
// a long chain of folders, each of which includes the next one twice.
func (t *total) add(other total) {
	const enough = 1 << 40
	t.bytes = min(t.bytes+other.bytes, enough)
	t.objects = min(t.objects+other.objects, enough)
	t.patched = min(t.patched+other.patched, enough)
	t.added = min(t.added+other.added, enough)
}

// check returns an error if the work exceeds a limit.
func (t *total) check(limits Limits) error {
	switch {
	case t.bytes > limits.Bytes:
		return tooManyBytes(limits)
	case t.objects > limits.Objects:
		return fmt.Errorf("the kustomization has more than %d objects", limits.Objects)
	case t.patched > limits.Patched:
		return fmt.Errorf("the build compares a patch with an object more than %d times: use fewer patches", limits.Patched)
	case t.added > limits.Added:
		return fmt.Errorf("the labels, annotations and patches can add more than %d MiB to the objects", limits.Added>>20)
	}
	return nil
}

// folder copies the kustomization of a folder, with all files and folders that it uses.
func (w *walk) folder(folder string) (total, error) {
	if known, entered := w.folders[folder]; entered && known == nil {
		return total{}, fmt.Errorf("%s: the kustomization includes itself", folder)
	} else if entered {
		return *known, nil
	}
	w.folders[folder] = nil
	file, text, err := w.readKustomization(folder)
	if err != nil {
		return total{}, err
	}
	k, err := parse(file, text)
	if err != nil {
		return total{}, err
	}
	sum := total{bytes: int64(len(text))}
	own := int64(len(text)) // bytes that can be added to each object
	for _, resource := range k.resources {
		added, err := w.resource(file, resource)
		if err != nil {
			return total{}, err
		}
		sum.add(added)
	}
	for _, patch := range k.patchFiles {
		added, err := w.file(file, patch)
		if err != nil {
			return total{}, err
		}
		sum.bytes += added.bytes
		own += added.bytes
	}
	sum.add(total{patched: k.patches * sum.objects, added: own * sum.objects})
	w.folders[folder] = &sum
	return sum, w.copied.WriteFile(inMemory(file), k.text)
}

// readKustomization reads the file that makes a folder a kustomization.
func (w *walk) readKustomization(folder string) (file string, text []byte, err error) {
	for _, name := range Names {
		file = path.Join(folder, name)
		if _, err := fs.Lstat(w.tree, file); err == nil {
			text, err = w.readFile(file)
			return file, text, err
		}
	}
	return "", nil, fmt.Errorf("%s: no file kustomization.yaml", folder)
}

// resource copies a file with objects, or a folder with another kustomization. The parameter "from" is the file that
// names the resource.
func (w *walk) resource(from string, r reference) (total, error) {
	target, err := r.resolve(from)
	if err != nil {
		return total{}, err
	}
	info, err := fs.Lstat(w.tree, target)
	if err != nil {
		return total{}, fmt.Errorf("%s:%d: %s is not in the commit", from, r.line, target)
	}
	if info.IsDir() {
		return w.folder(target)
	}
	return w.file(from, r)
}

// file copies a file with objects or with a patch.
func (w *walk) file(from string, r reference) (total, error) {
	file, err := r.resolve(from)
	if err != nil {
		return total{}, err
	}
	text, err := w.readFile(file)
	if err != nil {
		return total{}, fmt.Errorf("%s:%d: %w", from, r.line, err)
	}
	objects, err := checkText(file, text)
	if err != nil {
		return total{}, err
	}
	w.lines[file] = firstLines(text)
	return total{bytes: int64(len(text)), objects: objects}, w.copied.WriteFile(inMemory(file), text)
}

// readFile reads a regular file. It refuses links, because they can lead to files outside the tree. It also refuses too large files,
// before anybody parses them: a parser needs up to a hundred times as much memory as the text has bytes.
func (w *walk) readFile(file string) ([]byte, error) {
	info, err := fs.Lstat(w.tree, file)
	if err != nil || !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s is not a regular file of the commit", file)
	}
	if info.Size() > w.limits.FileBytes {
		return nil, fmt.Errorf("%s has more than %d KiB", file, w.limits.FileBytes>>10)
	}
	if w.read += info.Size(); w.read > w.limits.Bytes {
		return nil, tooManyBytes(w.limits)
	}
	return fs.ReadFile(w.tree, file)
}

// tooManyBytes returns the error for files that are too large together.
func tooManyBytes(limits Limits) error {
	return fmt.Errorf("the files of the kustomization have more than %d MiB, where each use of a file counts", limits.Bytes>>20)
}

// firstLines returns the first line of each object of a file by the object's name.
func firstLines(text []byte) map[string]int {
	lines := map[string]int{}
	decoder := yaml.NewDecoder(bytes.NewReader(text))
	for {
		var node yaml.Node
		if decoder.Decode(&node) != nil {
			return lines
		}
		if len(node.Content) == 0 {
			continue
		}
		if name := valueOf(valueOf(node.Content[0], "metadata"), "name"); name != nil {
			lines[name.Value] = node.Content[0].Line
		}
	}
}
