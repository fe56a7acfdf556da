// Command argocd-types reads what is for Argo CD into the Go types of Argo CD 2.14, strictly, and says which fields these do
// not have. It is for tests: the product writes what Argo CD's CRDs have, and links none of this.
package main

import (
	"fmt"
	"os"

	"github.com/argoproj/argo-cd/v2/pkg/apis/application/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"
)

// types are those of kinds that an admin gives to Argo CD.
var types = map[string]func() any{
	"argoproj.io/v1alpha1 Application":    func() any { return new(v1alpha1.Application) },
	"argoproj.io/v1alpha1 ApplicationSet": func() any { return new(v1alpha1.ApplicationSet) },
	"argoproj.io/v1alpha1 AppProject":     func() any { return new(v1alpha1.AppProject) },
	"v1 ConfigMap":                        func() any { return new(corev1.ConfigMap) },
}

func main() {
	wrong := false
	for _, file := range os.Args[1:] {
		if err := read(file); err != nil {
			fmt.Fprintf(os.Stderr, "%s: %v\n", file, err)
			wrong = true
		}
	}
	if wrong {
		os.Exit(1)
	}
}

// read decodes a file into the type of its kind.
func read(file string) error {
	text, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	var is struct{ APIVersion, Kind string }
	if err := yaml.Unmarshal(text, &is); err != nil {
		return err
	}
	empty, known := types[is.APIVersion+" "+is.Kind]
	if !known {
		return fmt.Errorf("no type is known for %s of %s", is.Kind, is.APIVersion)
	}
	return yaml.UnmarshalStrict(text, empty())
}
