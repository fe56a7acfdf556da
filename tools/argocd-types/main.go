// Command argocd-types decodes files for Argo CD strictly into the Go types of Argo CD 2.14, and reports unknown
// fields. Only tests run argocd-types.
package main

import (
	"fmt"
	"os"

	"github.com/argoproj/argo-cd/v2/pkg/apis/application/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"
)

// goTypes contains the Go type of each kind of object that administrators write for Argo CD.
var goTypes = map[string]func() any{
	"argoproj.io/v1alpha1 Application":    func() any { return new(v1alpha1.Application) },
	"argoproj.io/v1alpha1 ApplicationSet": func() any { return new(v1alpha1.ApplicationSet) },
	"argoproj.io/v1alpha1 AppProject":     func() any { return new(v1alpha1.AppProject) },
	"v1 ConfigMap":                        func() any { return new(corev1.ConfigMap) },
}

func main() {
	failed := false
	for _, file := range os.Args[1:] {
		if err := read(file); err != nil {
			fmt.Fprintf(os.Stderr, "%s: %v\n", file, err)
			failed = true
		}
	}
	if failed {
		os.Exit(1)
	}
}

// read decodes the object in a file strictly into the Go type for the object's kind.
func read(file string) error {
	text, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	var meta struct{ APIVersion, Kind string }
	if err := yaml.Unmarshal(text, &meta); err != nil {
		return err
	}
	empty, known := goTypes[meta.APIVersion+" "+meta.Kind]
	if !known {
		return fmt.Errorf("unknown kind %s of %s", meta.Kind, meta.APIVersion)
	}
	return yaml.UnmarshalStrict(text, empty())
}
