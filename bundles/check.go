package bundles

import (
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"
)

// RefusedError reports that a folder was not changed, because the change would delete or overwrite unknown or edited
// files in the folder.
type RefusedError struct {
	Dir   string
	Files []string // paths relative to Dir, each with the reason
}

// maxListed is the maximum number of files that an error message lists.
const maxListed = 10

// Error returns a message with the path of the folder and at most maxListed of the files.
func (r *RefusedError) Error() string {
	listed, more := r.Files, ""
	if len(listed) > maxListed {
		listed, more = listed[:maxListed], fmt.Sprintf(" and %d more", len(listed)-maxListed)
	}
	return fmt.Sprintf("%s holds files that would be lost: %s%s", r.Dir, strings.Join(listed, ", "), more)
}

// Check returns a *RefusedError if Write would delete or overwrite unknown files, or generated files that
// somebody edited. If the Writer's field KeepUnknown is true, Check accepts unknown files whose paths do not
// conflict with the paths of generated files. If the Writer's field Force is true, Check accepts edited
// files.
func (p *Plan) Check() error {
	var unknown, edited []string
	wanted, folders := p.tree.listPaths(), map[string]bool{}
	for file := range wanted {
		addParents(folders, file)
	}
	for _, name := range slices.Sorted(maps.Keys(p.present)) {
		switch e := p.present[name]; {
		case e.unknown && !p.writer.KeepUnknown:
			unknown = append(unknown, e.pathLabel(name)+" (unknown)")
		case e.unknown && (wanted[name] || folders[name] || p.belowFile(name, wanted)):
			unknown = append(unknown, e.pathLabel(name)+" (unknown, and its path conflicts with a generated file)")
		case e.edited && !p.writer.Force:
			edited = append(edited, name+" (edited)")
		}
	}
	if refused := append(unknown, edited...); len(refused) > 0 {
		return &RefusedError{Dir: p.dir, Files: refused}
	}
	return nil
}

// belowFile reports whether a generated file would replace a folder that contains an unknown file. The argument "name"
// is the path of the unknown file. If the folder is itself unknown, belowFile returns false. In this case, the method
// Check reports the folder, but not each file in the folder.
func (p *Plan) belowFile(name string, wanted map[string]bool) bool {
	for dir := path.Dir(name); dir != "."; dir = path.Dir(dir) {
		if wanted[dir] {
			return !p.present[dir].unknown
		}
	}
	return false
}
