package generator

import (
	"io/fs"
	"path"
	"strings"

	"cuelang.org/go/cue/build"
	"cuelang.org/go/cue/errors"
	"cuelang.org/go/cue/parser"
	"cuelang.org/go/cue/token"
)

// module is what our CUE calls itself in imports.
const module = "github.com/trainyard/trainyard/"

// sources are the packages of our CUE, each parsed when it is first asked for. CUE's own loader
// would first look for modules, versions, build tags and encodings, of which there are none here: that
// is a third of what starting takes.
type sources struct {
	files   fs.FS
	context *build.Context
	loaded  map[string]*build.Instance
}

func newSources(files fs.FS) *sources {
	s := &sources{files: files, loaded: map[string]*build.Instance{}}
	s.context = build.NewContext(build.Loader(s.imported))
	return s
}

// imported loads a package for one that imports it; nil stands for one of CUE's own.
func (s *sources) imported(_ token.Pos, name string) *build.Instance {
	folder, ours := strings.CutPrefix(name, module)
	if !ours {
		return nil
	}
	instance, _ := s.instance(folder) // which has the error
	return instance
}

// instance is the package in a folder, with all that it imports.
func (s *sources) instance(folder string) (*build.Instance, error) {
	if known := s.loaded[folder]; known != nil {
		return known, known.Err
	}
	instance := s.context.NewInstance("/"+folder, nil)
	instance.ImportPath = module + folder
	s.loaded[folder] = instance
	if err := s.parse(instance, folder); err != nil {
		instance.ReportError(errors.Promote(err, "loading "+folder))
		return instance, instance.Err
	}
	return instance, instance.Complete()
}

// parse reads the files of a package.
func (s *sources) parse(instance *build.Instance, folder string) error {
	names, err := fs.Glob(s.files, path.Join(folder, "*.cue"))
	if err != nil {
		return err
	}
	for _, name := range names {
		text, err := fs.ReadFile(s.files, name)
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
