package kustomization

import (
	"errors"
	"fmt"
	"io/fs"
	"path"

	"sigs.k8s.io/kustomize/kyaml/filesys"
)

// walk copies the files of a kustomization. walk also computes the size of the kustomization, and estimates the time of
// its build (see Limits).
type walk struct {
	tree    fs.FS
	limits  Limits
	read    int64 // bytes of all files that were read
	values  int64 // in these files
	depth   int64 // the number of folders in the chain from the first folder to the folder that is read now
	copied  filesys.FileSystem
	origins map[string]origin
	marked  map[string]bool   // for each file that was read, whether its objects are marked with their origin
	folders map[string]*total // the total of each folder that was entered; nil until the folder is finished
}

// total is the combined size of a folder and of all folders that it uses. The comment of the type Limits describes how
// the sizes are measured.
type total struct {
	bytes, objects, values, added, work int64

	each    int64 // the largest number of transformations of one object
	hops    int64 // the largest number of components in a chain
	grown   int64 // the largest number of values that transformations can add to one object, without the values in "once"
	once    added // values of the patches without a target
	depth   int64
	folders int64 // uses of folders
	own     own
}

// The struct "own" contains totals of all transformations of a kustomization file. The totals include the
// transformations in the patch files and in the components of the kustomization file.
type own struct {
	transformations int64 // the number of transformations
	values, bytes   int64 // values and bytes that the transformations can add to each object of the folder
	once            added // values of the patches without a target
	merges          int64 // how often kustomize compares the names of all objects (M in the comment of Limits)
}

// addPatches adds the patches of one item of the list "patches" to the totals. An item contains patches as text, or the
// path of a file with patches. If the argument "single" is true, each patch changes only one object.
func (o *own) addPatches(c content, single bool) {
	o.transformations += max(c.objects, 1)
	if single {
		o.once = o.once.plus(c.named)
	} else {
		o.values += c.values
		o.merges += max(c.objects, 1)
	}
}

// addComponent adds the transformations of a component to the totals of the folder that uses the component. The reason
// is that the component changes all objects of this folder.
func (o *own) addComponent(c own) {
	o.transformations += c.transformations
	o.values += c.values
	o.bytes += c.bytes
	o.once = o.once.plus(c.once)
	o.merges += c.merges
}

// add adds the total of a file or folder to the total of the folder that uses it. The sums cannot overflow, because the
// total of each used folder was already checked against the limits.
func (t *total) add(used total) {
	t.bytes += used.bytes
	t.objects += used.objects
	t.values += used.values
	t.added += used.added
	t.work += used.work
	t.each = max(t.each, used.each)
	t.grown = max(t.grown, used.grown)
	t.once = t.once.larger(used.once)
	t.hops = max(t.hops, used.hops)
	t.depth = max(t.depth, used.depth)
	t.folders += used.folders
}

// The unit of Limits.Work is the time that kustomize needs to apply one transformation to one short value. In the same
// time, kustomize can apply a transformation to about 50 bytes of a long value, or compare about 80 pairs of names.
const bytesPerValue, comparisonsPerValue = 50, 80

// transform adds the effects of the folder's own transformations to the totals.
func (t *total) transform(o own) {
	const enough = 1 << 30 // far above all limits, so that the products do not overflow
	t.own = o
	t.values = min(t.values+o.values*t.objects+o.once.sum(), enough)
	t.added += o.bytes * t.objects
	t.each += o.transformations
	t.grown += o.values
	t.once = t.once.plus(o.once)
	objects := min(t.objects, 1<<15)
	t.work += o.transformations*(max(t.values, (t.bytes+t.added)/bytesPerValue)+min(objects*t.each, enough)) + o.merges*objects*objects/comparisonsPerValue
	t.depth++
	t.folders++
}

var errTooManyAdded = fmt.Errorf("the labels, annotations and patches could add more than the allowed %d values to an object", maxObjectValues)

// check returns an error if the size of the kustomization exceeds a limit.
func (t *total) check(limits Limits) error {
	switch {
	case t.bytes > limits.Bytes:
		return tooManyBytes(limits)
	case t.objects > limits.Objects:
		return fmt.Errorf("the kustomization has more than %d objects", limits.Objects)
	case t.folders > limits.Folders:
		return fmt.Errorf("the kustomization uses more than %d folders (each use of a folder counts)", limits.Folders)
	case t.depth > limits.Depth:
		return tooDeep(limits)
	case t.hops > limits.Components:
		return fmt.Errorf("a chain of components, each of which uses the next one, may have at most %d components", limits.Components)
	case t.grown > maxObjectValues:
		return errTooManyAdded
	case t.values > limits.Values:
		return fmt.Errorf("the objects could have more than the allowed %d values in total", limits.Values)
	case t.added > limits.Added:
		return fmt.Errorf("the labels, annotations and patches could add more than the allowed %d MiB to the objects", limits.Added>>20)
	case t.work > limits.Work:
		return errors.New("the build would take too long: use fewer patches, labels, images or objects")
	case t.grown+t.once.largest() > maxObjectValues: // largest is slow for many patches, so the work must be checked first
		return errTooManyAdded
	}
	return nil
}

// folder writes a copy of a folder's kustomization to the file system that kustomize reads. The method also copies all
// files and folders that the kustomization uses. The result is the combined size of the folder and of all folders that
// it uses (see the type "total").
func (w *walk) folder(folder string) (total, error) {
	if known, entered := w.folders[folder]; entered && known == nil {
		return total{}, fmt.Errorf("%s: the kustomization includes itself", folder)
	} else if entered {
		return *known, nil
	}
	if w.depth++; w.depth > w.limits.Depth {
		return total{}, fmt.Errorf("%s: %w", folder, tooDeep(w.limits))
	}
	defer func() { w.depth-- }()
	w.folders[folder] = nil
	file, text, err := w.readKustomization(folder)
	if err != nil {
		return total{}, err
	}
	k, err := parse(file, text)
	if err != nil {
		return total{}, err
	}
	sum, err := w.copyUsed(file, k)
	if err != nil {
		return total{}, err
	}
	if err := sum.check(w.limits); err != nil {
		return total{}, fmt.Errorf("%s: %w", folder, err)
	}
	w.folders[folder] = &sum
	return sum, w.copied.WriteFile(inMemory(file), k.text)
}

// copyUsed copies all files and folders that a kustomization uses. The result "sum" is the combined size of the
// kustomization and of these files and folders (see the type "total").
func (w *walk) copyUsed(file string, k parsed) (sum total, err error) {
	sum.bytes = k.bytes
	for _, resource := range k.resources {
		used, err := w.resource(file, resource)
		if err != nil {
			return total{}, err
		}
		sum.add(used)
	}
	o := k.own
	o.merges++
	for _, component := range k.components {
		used, err := w.resource(file, component)
		if err != nil {
			return total{}, err
		}
		used.hops++
		sum.add(used)
		o.addComponent(used.own)
	}
	for _, patch := range k.patchFiles {
		size, found, err := w.file(file, patch.reference, checkFor(patch.single), nil)
		if err == nil {
			err = checkCount(file, patch.line, found, patch.single)
		}
		if err != nil {
			return total{}, err
		}
		sum.bytes += size
		if !patch.single {
			o.bytes += size
		}
		o.addPatches(found, patch.single)
	}
	sum.transform(o)
	return sum, nil
}

// readKustomization reads the kustomization file of a folder, such as kustomization.yaml.
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

// resource(from, r) follows the reference r, which is in the file "from". If r leads to a file, the method copies this
// file to the file system that kustomize reads. If r leads to a folder, the method copies the kustomization of this
// folder.
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
	size, found, err := w.file(from, r, checkResource, func(object map[string]any, line int) { w.mark(object, origin{target, line}) })
	return total{bytes: size, objects: found.objects, values: found.values}, err
}

// file is a method that copies one file to the file system that kustomize reads. The copied file contains objects or
// patches. The results are the size of the file in bytes, and its checked content. The arguments "check" and "mark" are
// passed to checkText.
func (w *walk) file(from string, r reference, check checkFunc, mark markFunc) (size int64, found content, err error) {
	file, err := r.resolve(from)
	if err != nil {
		return 0, content{}, err
	}
	text, err := w.readFile(file)
	if err != nil {
		return 0, content{}, fmt.Errorf("%s:%d: %w", from, r.line, err)
	}
	if found, err = checkText(file, text, check, mark); err != nil {
		return 0, content{}, err
	}
	if marked, used := w.marked[file]; used && marked != (mark != nil) {
		return 0, content{}, fmt.Errorf("%s:%d: %s is used as a resource and as a patch: write two files", from, r.line, file)
	}
	w.marked[file] = mark != nil
	if w.values += found.values; w.values > w.limits.Values {
		return 0, content{}, fmt.Errorf("the files have more than %d values in total", w.limits.Values)
	}
	return int64(len(text)), found, w.copied.WriteFile(inMemory(file), found.text)
}

// readFile reads a regular file. readFile refuses links, because they can lead to files outside the tree. readFile also
// refuses files that are too large. It does so before the files are parsed, because a parser can need 100 bytes of
// memory for each byte of a file.
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

// tooDeep returns the error for a chain of folders that is too long. Each folder of the chain uses
// the next folder of the chain.
func tooDeep(limits Limits) error {
	return fmt.Errorf("the folders are nested too deeply: a chain of folders, each of which uses the next one, may have at most %d folders", limits.Depth)
}

// tooManyBytes returns the error for files whose total size is too large.
func tooManyBytes(limits Limits) error {
	return fmt.Errorf("the files of the kustomization have more than %d MiB in total (each use of a file counts)", limits.Bytes>>20)
}
