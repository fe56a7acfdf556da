package lanes

import (
	"context"
	"slices"

	"golang.org/x/mod/modfile"
)

// moduleFile is the path of the module file. If go.mod is in the list of a lane's inputs, the lane depends on the
// versions in go.mod. Other changes of go.mod do not make the lane stale.
const moduleFile = "go.mod"

// usesModules reports whether a lane depends on the versions in go.mod, but on nothing else in go.mod. For a lane that
// tests the whole repository, usesModules returns false, because this lane depends on the whole file go.mod.
func (l Lane) usesModules() bool { return slices.Contains(l.Inputs, moduleFile) }

// keepsModules compares the file go.mod in two commits. The argument "before" names the older commit, and "after" names
// the newer commit. A go.mod file contains the versions of Go, of the Go toolchain and of modules. keepsModules looks
// in the newer go.mod for each version that the older go.mod contains. If the newer go.mod contains a different version
// instead, or no version, keepsModules returns false. The newer go.mod may contain new modules. keepsModules ignores
// new modules for the following reason. A new module can influence a lane only if something else also changes: the
// source code of a package, or the version of another module. If a package imports the new module only in the newer
// commit, the source code of this package has changed. The function keepsInputs, which calls keepsModules, notices this
// change. If the new module raises the version of another module, go.mod contains the raised version
// (https://go.dev/ref/mod#go-mod-file-go), so keepsModules returns false.
func (r Repository) keepsModules(ctx context.Context, before, after string) (bool, error) {
	old, err := r.readModules(ctx, before)
	if err != nil {
		return false, err
	}
	current, err := r.readModules(ctx, after)
	if err != nil {
		return false, err
	}
	for path, version := range old {
		if current[path] != version {
			return false, nil
		}
	}
	return true, nil
}

// readModules returns the versions of Go, of its toolchain and of all modules that a commit requires.
func (r Repository) readModules(ctx context.Context, commit string) (map[string]string, error) {
	text, err := r.git(ctx, "show", commit+":"+moduleFile)
	if err != nil {
		return nil, err
	}
	file, err := modfile.Parse(moduleFile, []byte(text), nil)
	if err != nil {
		return nil, err
	}
	versions := map[string]string{}
	if file.Go != nil {
		versions["go"] = file.Go.Version
	}
	if file.Toolchain != nil {
		versions["toolchain"] = file.Toolchain.Name
	}
	for _, require := range file.Require {
		versions[require.Mod.Path] = require.Mod.Version
	}
	return versions, nil
}
