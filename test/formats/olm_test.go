package formats

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/yaml"

	"github.com/trainyard/trainyard/bundles"
	"github.com/trainyard/trainyard/generator"
)

// unpackedByOperator reads what docs/olm.md tells the operator to read, and beside it what OLM applies itself.
func unpackedByOperator(t *testing.T, dir string) []byte {
	t.Helper()
	var all []byte
	parts := map[string]corev1.ConfigMap{}
	for file, text := range readFolder(t, dir) {
		if strings.Contains(file, "/") {
			t.Errorf("%s: OLM does not look into folders", file)
		}
		var c corev1.ConfigMap
		if err := yaml.Unmarshal([]byte(text), &c); err != nil {
			t.Fatal(err)
		}
		part, is := c.Labels["trainyard.dev/payload"]
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
	return append(all, joined(t, parts)...)
}

// joined puts the parts of a payload together.
func joined(t *testing.T, parts map[string]corev1.ConfigMap) []byte {
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
	if want := strconv.Itoa(len(parts)); about["trainyard.dev/payload-parts"] != want {
		t.Errorf("there are %s parts, and %s are announced", want, about["trainyard.dev/payload-parts"])
	}
	if want := fmt.Sprintf("sha256:%x", sha256.Sum256(stream)); about["trainyard.dev/payload-digest"] != want {
		t.Errorf("the digest is %s, and %s is announced", want, about["trainyard.dev/payload-digest"])
	}
	r, err := gzip.NewReader(bytes.NewReader(stream))
	if err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	if want := strconv.Itoa(bytes.Count(text, []byte("---\n"))); about["trainyard.dev/payload-objects"] != want {
		t.Errorf("there are %s objects, and %s are announced", want, about["trainyard.dev/payload-objects"])
	}
	return text
}

// TestOLMAppliesWhatItIsGiven: objects of kinds that the document names stand in the bundle, and not in the payload.
func TestOLMAppliesWhatItIsGiven(t *testing.T) {
	olm, _ := bundles.Named("olm-payload")
	given := generator.Input{Name: "olm.yaml", Text: []byte("spec: {delivery: {olm: {manifests: [ClusterRole]}}}")}
	for environment, bundle := range generate(t, read(t, "examples/acme/platform.yaml"), given) {
		want := map[string]string{}
		roles := 0
		for o := range bundle.Objects.All() {
			text, err := o.MarshalJSON()
			if err != nil {
				t.Fatal(err)
			}
			want[o.ID().String()] = canonical(t, text)
			if o.ID().Kind == "ClusterRole" {
				roles++
			}
		}
		expectParity(t, olm, bundle, want)

		dir := filepath.Join(t.TempDir(), "bundle")
		if _, err := rendered(t, olm, bundle).WriteDir(dir, false); err != nil {
			t.Fatal(err)
		}
		files, err := filepath.Glob(filepath.Join(dir, "manifests", "clusterrole-*.yaml"))
		if err != nil || len(files) != roles || roles == 0 {
			t.Errorf("%s: %d ClusterRoles stand in the bundle (%v), want %d", environment, len(files), err, roles)
		}
		for _, file := range files {
			if text, err := os.ReadFile(file); err != nil || !strings.Contains(string(text), "kind: ClusterRole\n") {
				t.Errorf("%s: %v:\n%s", file, err, text)
			}
		}
	}
}
