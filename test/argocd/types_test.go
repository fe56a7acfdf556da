package argocd

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/trainyard/trainyard/test/repo"
)

// operatorSettings is the file name of settings for the OpenShift GitOps operator. The test skips files with this
// name, because Argo CD has no Go types for objects of the operator.
const operatorSettings = "argocd.yaml"

// TestTypesOfTwoHoldEverything checks that the Go types of Argo CD 2.14 have all fields that bundles set. The test
// leaves out ClusterRoles and their bindings, whose types belong to Kubernetes. Programs that admins write can use
// Argo CD's Go types to decode bundles.
func TestTypesOfTwoHoldEverything(t *testing.T) {
	var files []string
	for _, file := range repo.Files(t) {
		folder, name := filepath.Split(file)
		if strings.HasPrefix(file, "bundles/rendered/") && filepath.Base(folder) == "argocd" && name != operatorSettings && !strings.HasPrefix(name, "clusterrole") && filepath.Ext(name) == ".yaml" {
			files = append(files, repo.Path(t, file))
		}
	}
	kinds := map[string]bool{}
	for _, file := range files {
		kind, _, _ := strings.Cut(filepath.Base(file), "-")
		kinds[kind] = true
	}
	if len(kinds) < 4 { // Applications, ApplicationSets, AppProjects and the ConfigMap
		t.Fatalf("the examples have only %v", kinds)
	}
	if output, err := exec.Command(repo.Tool(t, "argocd-types"), files...).CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, output)
	}
}

// TestTypesOfTwoAreStrict checks that the decoder for the types of Argo CD 2.14 refuses fields of later versions.
func TestTypesOfTwoAreStrict(t *testing.T) {
	for name, text := range map[string]string{
		"an Application that names automated.enabled": "{apiVersion: argoproj.io/v1alpha1, kind: Application, spec: {syncPolicy: {automated: {enabled: true}}}}",
		"an AppProject that names one runtime":        "{apiVersion: argoproj.io/v1alpha1, kind: AppProject, spec: {clusterResourceWhitelist: [{group: a, kind: B, name: c}]}}",
		"an ApplicationSet with such an Application":  "{apiVersion: argoproj.io/v1alpha1, kind: ApplicationSet, spec: {template: {spec: {syncPolicy: {automated: {enabled: true}}}}}}",
		"an ApplicationSet that lists artifacts":      "{apiVersion: argoproj.io/v1alpha1, kind: ApplicationSet, spec: {generators: [{oci: {}}]}}",
	} {
		t.Run(name, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "object.yaml")
			if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
			if output, err := exec.Command(repo.Tool(t, "argocd-types"), file).CombinedOutput(); err == nil || !strings.Contains(string(output), "unknown field") {
				t.Errorf("error %v, output %q, want an unknown field", err, output)
			}
		})
	}
}
