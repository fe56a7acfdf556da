package layout

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/trainyard/trainyard"
	"github.com/trainyard/trainyard/api/v1alpha1"
	"github.com/trainyard/trainyard/test/repo"
)

// keyPattern matches label and annotation keys in quotes, and also API versions such as
// trainyard.dev/v1alpha1, which have the same form.
var keyPattern = regexp.MustCompile(`"((?:trainyard\.dev|trainer\.kubeflow\.org)/[a-z0-9-]+)"`)

func TestCUEAndGoUseTheSameKeys(t *testing.T) {
	declared := map[string]bool{}
	for _, key := range []string{
		v1alpha1.APIVersion, v1alpha1.TrainerAPIVersion, v1alpha1.PlatformLabel, v1alpha1.TenantLabel, v1alpha1.RuntimeLabel, v1alpha1.RoleLabel, v1alpha1.MPILabel, v1alpha1.KeepLabel, v1alpha1.AccessLabel,
		v1alpha1.LimitsAnnotation, v1alpha1.NotesAnnotation, v1alpha1.GangAnnotation, v1alpha1.NetworkAnnotation, v1alpha1.TTLAnnotation, v1alpha1.LeftOutAnnotation,
		v1alpha1.FrameworkLabel, v1alpha1.AncestorStepLabel, v1alpha1.TrainJobController, v1alpha1.IsolationLabel,
	} {
		declared[key] = true
	}
	used := map[string]bool{}
	eachCUEFile(t, func(path, text string) {
		for _, match := range keyPattern.FindAllStringSubmatch(text, -1) {
			if used[match[1]] = true; !declared[match[1]] {
				t.Errorf("%s: api/v1alpha1 does not declare %s", path, match[1])
			}
		}
	})
	for key := range declared {
		if !used[key] {
			t.Errorf("no CUE file uses %s", key)
		}
	}
}

// TestParametersHaveOnePlace checks that CUE and Go use the same namespace for the ConfigMaps with the parameters of
// admission policies.
func TestParametersHaveOnePlace(t *testing.T) {
	found := 0
	eachCUEFile(t, func(path, text string) {
		if strings.HasPrefix(path, "policies/admission/") {
			found += strings.Count(text, `_namespace: "`+v1alpha1.SystemNamespace+`"`)
		}
	})
	if found != 1 {
		t.Errorf("policies/admission sets _namespace to %s %d times, want once", v1alpha1.SystemNamespace, found)
	}
}

func eachCUEFile(t *testing.T, visit func(path, text string)) {
	t.Helper()
	err := fs.WalkDir(trainyard.CUE, ".", func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		text, err := fs.ReadFile(trainyard.CUE, path)
		visit(path, string(text))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

func TestKeysAreDeclaredOnce(t *testing.T) {
	for _, p := range packages(t) {
		if p.ImportPath == module+"/api/v1alpha1" {
			continue
		}
		for _, name := range p.GoFiles {
			path := p.Dir + "/" + name
			text, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			file, err := parser.ParseFile(token.NewFileSet(), path, text, 0)
			if err != nil {
				t.Fatal(err)
			}
			ast.Inspect(file, func(n ast.Node) bool {
				literal, is := n.(*ast.BasicLit)
				if is && literal.Kind == token.STRING {
					value, _ := strconv.Unquote(literal.Value)
					if keyPattern.MatchString(strconv.Quote(value)) || value == v1alpha1.SystemNamespace {
						t.Errorf("%s repeats %q: use the constant of api/v1alpha1", strings.TrimPrefix(path, repo.Path(t)+"/"), value)
					}
				}
				return true
			})
		}
	}
}
