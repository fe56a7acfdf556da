package controlplane_test

import (
	"errors"
	"os/exec"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/trainyard/trainyard/test/controlplane"
	"github.com/trainyard/trainyard/test/repo"
)

// TestDoctorReadsArgoCD checks that `trainyard doctor` reports which required settings are missing in Argo CD.
// Settings that trainyard does not need must not change the report.
func TestDoctorReadsArgoCD(t *testing.T) {
	cp := controlplane.Start(t)
	program := repo.Build(t)
	for name, tc := range map[string]struct {
		data map[string]string // nil for no ConfigMap
		want string
	}{
		"no Argo CD":       {nil, "has no ConfigMap argocd-cm: name the namespace of Argo CD"},
		"no settings":      {map[string]string{"a": "b"}, `kustomize.buildOptions of argocd-cm is "": add --enable-alpha-plugins --enable-exec;`},
		"one of two flags": {map[string]string{"kustomize.buildOptions": "--enable-helm --enable-alpha-plugins"}, ": add --enable-exec;"},
		"both flags":       {map[string]string{"kustomize.buildOptions": "--enable-exec --enable-alpha-plugins=true"}, "contains --enable-alpha-plugins and --enable-exec"},
	} {
		t.Run(name, func(t *testing.T) {
			namespace := cp.Namespace(t)
			if tc.data != nil {
				settings := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "argocd-cm"}, Data: tc.data}
				if err := cp.Client().Create(t.Context(), settings); err != nil {
					t.Fatal(err)
				}
			}
			out, err := exec.Command(program, "doctor", "--argocd-namespace", namespace, "--kubeconfig", cp.Kubeconfig()).Output()
			if exit := (*exec.ExitError)(nil); err != nil && !errors.As(err, &exit) {
				t.Fatal(err)
			}
			if !strings.Contains(string(out), tc.want) {
				t.Errorf("want output with %q, got:\n%s", tc.want, out)
			}
		})
	}
}
