package formats

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/yaml"

	"github.com/trainyard/trainyard/api/v1alpha1"
	"github.com/trainyard/trainyard/bundles"
	"github.com/trainyard/trainyard/generator"
	"github.com/trainyard/trainyard/test/repo"
)

// unpackedByOperator returns all objects of an OLM bundle as one YAML stream. The stream contains the separate
// manifests, which OLM applies, and the objects of the payload. unpackedByOperator reads the payload with the steps
// that docs/olm.md describes.
func unpackedByOperator(t *testing.T, dir string) []byte {
	t.Helper()
	var all []byte
	parts := map[string]corev1.ConfigMap{}
	for file, text := range readFolder(t, dir) {
		if strings.Contains(file, "/") {
			t.Errorf("%s: OLM does not read files in folders", file)
		}
		var c corev1.ConfigMap
		if err := yaml.Unmarshal([]byte(text), &c); err != nil {
			t.Fatal(err)
		}
		part, is := c.Labels[v1alpha1.PayloadLabel]
		if !is {
			all = append(append(all, "---\n"...), text...)
			continue
		}
		if err := yaml.UnmarshalStrict([]byte(text), &c); err != nil {
			t.Error(err)
		}
		for _, err := range validation.ValidateObjectMeta(&c.ObjectMeta, false, validation.NameIsDNSSubdomain, field.NewPath("metadata")) {
			t.Errorf("%s: %v", file, err)
		}
		if n := len(c.BinaryData["objects.yaml.gz"]); n > 1<<19 {
			t.Errorf("%s holds %d bytes", file, n)
		}
		parts[part] = c
	}
	return append(all, joinParts(t, parts)...)
}

// joinParts returns the objects of a payload, which is divided into parts. It also checks the three annotations
// of the payload: the number of parts, the digest, and the number of objects.
func joinParts(t *testing.T, parts map[string]corev1.ConfigMap) []byte {
	t.Helper()
	var stream []byte
	about := parts["1"].Annotations
	for i := range len(parts) {
		part := parts[strconv.Itoa(i+1)]
		if diff := cmp.Diff(about, part.Annotations); diff != "" {
			t.Errorf("part %d: -first +this:\n%s", i+1, diff)
		}
		stream = append(stream, part.BinaryData["objects.yaml.gz"]...)
	}
	if want := strconv.Itoa(len(parts)); about[v1alpha1.PayloadPartsAnnotation] != want {
		t.Errorf("there are %s parts, but the annotation contains %s", want, about[v1alpha1.PayloadPartsAnnotation])
	}
	if want := fmt.Sprintf("sha256:%x", sha256.Sum256(stream)); about[v1alpha1.PayloadDigestAnnotation] != want {
		t.Errorf("the digest is %s, but the annotation contains %s", want, about[v1alpha1.PayloadDigestAnnotation])
	}
	r, err := gzip.NewReader(bytes.NewReader(stream))
	if err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	if want := strconv.Itoa(bytes.Count(text, []byte("---\n"))); about[v1alpha1.PayloadObjectsAnnotation] != want {
		t.Errorf("there are %s objects, but the annotation contains %s", want, about[v1alpha1.PayloadObjectsAnnotation])
	}
	return text
}

// TestOLMAppliesSeparateManifests checks that an object is a separate manifest if the field
// spec.delivery.olm.manifests lists its kind.
func TestOLMAppliesSeparateManifests(t *testing.T) {
	olm, _ := bundles.Named("olm-payload")
	given := generator.Input{Name: "olm.yaml", Text: []byte("spec: {delivery: {olm: {manifests: [ClusterRole]}}}")}
	for environment, bundle := range generateBundles(t, read(t, "examples/acme/platform.yaml"), given) {
		want := map[string]string{}
		roles := 0
		for o := range bundle.Objects.All() {
			text, err := o.MarshalJSON()
			if err != nil {
				t.Fatal(err)
			}
			want[o.ID().String()] = canonicalJSON(t, text)
			if o.ID().Kind == "ClusterRole" {
				roles++
			}
		}
		expectParity(t, olm, bundle, want)

		dir := filepath.Join(t.TempDir(), "bundle")
		if _, err := renderBundle(t, olm, bundle).WriteDir(dir, false); err != nil {
			t.Fatal(err)
		}
		files, err := filepath.Glob(filepath.Join(dir, "manifests", "clusterrole-*.yaml"))
		if err != nil || len(files) != roles || roles == 0 {
			t.Errorf("%s: the bundle has %d ClusterRoles as manifests (%v), want %d", environment, len(files), err, roles)
		}
		for _, file := range files {
			if text, err := os.ReadFile(file); err != nil || !strings.Contains(string(text), "kind: ClusterRole\n") {
				t.Errorf("%s: %v:\n%s", file, err, text)
			}
		}
	}
}

// operatorCSV is the smallest ClusterServiceVersion that OLM's library accepts without a warning. The test uses
// operatorCSV in place of the ClusterServiceVersion of trainyard's operator.
const operatorCSV = `apiVersion: operators.coreos.com/v1alpha1
kind: ClusterServiceVersion
metadata: {name: trainyard.v0.1.0, annotations: {capabilities: Basic Install, alm-examples: '[]'}}
spec:
  displayName: trainyard
  version: 0.1.0
  minKubeVersion: 1.33.0
  installModes: [{type: AllNamespaces, supported: true}]
  install:
    strategy: deployment
    spec:
      deployments:
      - name: operator
        spec:
          selector: {matchLabels: {app: operator}}
          template:
            metadata: {labels: {app: operator}}
            spec: {serviceAccountName: operator, containers: [{name: operator, image: quay.io/acme/operator:1}]}
`

// TestOLMBundlesAreValid adds an operator's ClusterServiceVersion to the manifests of each example, and runs the
// checks of OLM's own library.
func TestOLMBundlesAreValid(t *testing.T) {
	olm, _ := bundles.Named("olm-payload")
	manifests := generator.Input{Name: "olm.yaml", Text: []byte("spec: {delivery: {olm: {manifests: [ClusterRole, ClusterRoleBinding]}}}")}
	for name, file := range findExamples(t) {
		for environment, bundle := range generateBundles(t, read(t, file), manifests) {
			t.Run(path.Join(name, environment), func(t *testing.T) {
				dir := filepath.Join(t.TempDir(), "bundle")
				if _, err := renderBundle(t, olm, bundle).WriteDir(dir, false); err != nil {
					t.Fatal(err)
				}
				folder := filepath.Join(dir, "manifests")
				if err := os.WriteFile(filepath.Join(folder, "trainyard.clusterserviceversion.yaml"), []byte(operatorCSV), 0o600); err != nil {
					t.Fatal(err)
				}
				want := fmt.Sprintf("%d objects\n", len(readFolder(t, folder)))
				if diff := cmp.Diff(want, string(commandOutput(t, exec.Command(repo.Tool(t, "olm-bundle"), folder)))); diff != "" {
					t.Errorf("-files +objects that OLM loads:\n%s", diff)
				}
			})
		}
	}
}
