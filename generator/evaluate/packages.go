package evaluate

import (
	"io/fs"
	"path"
	"strings"

	"cuelang.org/go/cue/build"
	"cuelang.org/go/cue/errors"
	"cuelang.org/go/cue/parser"
	"cuelang.org/go/cue/token"
)

// modulePrefix is the prefix of import paths in trainyard's CUE module.
const modulePrefix = "github.com/trainyard/trainyard/"

// definitions loads each package of trainyard's CUE when the package is first used. definitions does not use CUE's own
// loader. That loader would also look for modules, versions, build tags and encodings, and would take a third of
// trainyard's start time.
type definitions struct {
	files   fs.FS
	context *build.Context
	loaded  map[string]*build.Instance
}

func newDefinitions(files fs.FS) *definitions {
	d := &definitions{files: files, loaded: map[string]*build.Instance{}}
	d.context = build.NewContext(build.Loader(d.loadImport))
	return d
}

// loadImport loads an imported package of trainyard. For a built-in package of CUE, loadImport returns nil, because CUE
// finds the package itself.
func (d *definitions) loadImport(_ token.Pos, name string) *build.Instance {
	folder, isOurs := strings.CutPrefix(name, modulePrefix)
	if !isOurs {
		return nil
	}
	instance, _ := d.instance(folder) // the error is ignored, because the instance also contains it
	return instance
}

func (d *definitions) instance(folder string) (*build.Instance, error) {
	if known := d.loaded[folder]; known != nil {
		return known, known.Err
	}
	instance := d.context.NewInstance("/"+folder, nil)
	instance.ImportPath = modulePrefix + folder
	d.loaded[folder] = instance
	if err := d.parse(instance, folder); err != nil {
		instance.ReportError(errors.Promote(err, "loading "+folder))
		return instance, instance.Err
	}
	return instance, instance.Complete()
}

func (d *definitions) parse(instance *build.Instance, folder string) error {
	names, err := fs.Glob(d.files, path.Join(folder, "*.cue"))
	if err != nil {
		return err
	}
	for _, name := range names {
		text, err := fs.ReadFile(d.files, name)
		if err != nil {
			return err
		}
		file, err := parser.ParseFile("/"+name, text, parser.ParseComments)
		if err != nil {
			return err
		}
		if err := instance.AddSyntax(file); err != nil {
			return err
		}
	}
	return nil
}
