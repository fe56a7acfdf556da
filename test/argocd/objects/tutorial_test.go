package objects

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/trainyard/trainyard/test/controlplane"
	"github.com/trainyard/trainyard/test/doctest"
	"github.com/trainyard/trainyard/test/repo"
)

// tutorialTime is the time that docs/openshift.md promises for all steps.
const tutorialTime = 15 * time.Minute

// TestOpenShiftTutorialIsAccepted runs the commands in steps 1 to 3 of docs/openshift.md. The test then applies the
// generated folder "argocd", as step 4 of docs/openshift.md says. During the test, neither Argo CD nor OpenShift runs.
func TestOpenShiftTutorialIsAccepted(t *testing.T) {
	cp := startWithCRDs(t, "argocd")
	text, err := os.ReadFile(repo.Path(t, "docs/openshift.md"))
	if err != nil {
		t.Fatal(err)
	}
	reader, began := doctest.NewReader(t, filepath.Join(t.TempDir(), "copy")), time.Now()
	for _, step := range slices.DeleteFunc(doctest.Parse(t, string(text)), func(s doctest.Step) bool { return s.Shell }) {
		reader.Follow(t, step)
	}
	files, err := filepath.Glob(reader.Private("/tmp/openshift/deploy/argocd/*.yaml"))
	if err != nil || len(files) < 5 {
		t.Fatalf("the tutorial generates the files %v, error %v, want at least 5", files, err)
	}
	objs, err := controlplane.ReadObjects(files...)
	if err != nil {
		t.Fatal(err)
	}
	if err := cp.Apply(t.Context(), objs...); err != nil {
		t.Fatal(err)
	}
	took := time.Since(began).Round(time.Second)
	t.Logf("the commands took %s", took)
	if took > tutorialTime {
		t.Errorf("the commands took %s, want at most %s", took, tutorialTime)
	}
}
