package bundles

import (
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"
)

// RefusedError is returned for a folder that holds what would be lost.
type RefusedError struct {
	Dir   string
	Files []string // what would be lost, relative to Dir, each with the reason
}

// maxNamed bounds how many files an error names.
const maxNamed = 10

// Error names the folder and the files that stand in the way.
func (r *RefusedError) Error() string {
	named, more := r.Files, ""
	if len(named) > maxNamed {
		named, more = named[:maxNamed], fmt.Sprintf(" and %d more", len(named)-maxNamed)
	}
	return fmt.Sprintf("%s holds files that would be lost: %s%s", r.Dir, strings.Join(named, ", "), more)
}

// Check returns a *RefusedError if the folder holds what Write would lose: what
// is not ours, unless it can be kept and is to be, and files of ours that
// somebody edited, unless Force is set.
func (p *Plan) Check() error {
	var foreign, edited []string
	wanted := p.tree.paths()
	folders := map[string]bool{}
	for file := range wanted {
		addParents(folders, file)
	}
	for _, name := range slices.Sorted(maps.Keys(p.present)) {
		switch e := p.present[name]; {
		case e.foreign && !p.writer.KeepUnknown:
			foreign = append(foreign, e.named(name)+" (not ours)")
		case e.foreign && p.clashes(name, wanted, folders):
			foreign = append(foreign, e.named(name)+" (not ours, and in the way of what is generated)")
		case e.edited && !p.writer.Force:
			edited = append(edited, name+" (edited)")
		}
	}
	if refused := append(foreign, edited...); len(refused) > 0 {
		return &RefusedError{Dir: p.dir, Files: refused}
	}
	return nil
}

// clashes tells whether something that is to be kept cannot lie in one folder
// with the tree: there is to be a file of its name or of that of a folder above
// it, or it is a file where a folder is to be.
func (p *Plan) clashes(name string, wanted, folders map[string]bool) bool {
	if wanted[name] || folders[name] {
		return true // a folder of the tree is no stranger, so this is something else
	}
	for dir := path.Dir(name); dir != "."; dir = path.Dir(dir) {
		if p.present[dir].foreign {
			return false // has been said of that folder
		}
		if wanted[dir] {
			return true
		}
	}
	return false
}
