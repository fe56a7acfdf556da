package controlplane_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trainyard/trainyard/test/attack"
	"github.com/trainyard/trainyard/test/controlplane"
	"github.com/trainyard/trainyard/test/repo"
)

const onboardingCount = 3

// TestNoTrainJobEscapesDuringOnboarding adds and removes a tenant several times, as docs/tenants.md describes.
// Meanwhile, an editor of the tenant continuously submits TrainJobs with a runtime that the tenant does not
// list. The API server must refuse all these TrainJobs.
func TestNoTrainJobEscapesDuringOnboarding(t *testing.T) {
	times := attack.Rounds(t, onboardingCount)
	cp := controlplane.Start(t)
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "onboarded"}}
	if err := cp.Client().Create(t.Context(), ns); client.IgnoreAlreadyExists(err) != nil {
		t.Fatal(err)
	}
	a := attack.Start(t, cp.Config(), "onboarded")
	file := filepath.Join(t.TempDir(), "objects.yaml")
	program := repo.Build(t)
	for i := range times {
		write(t, file, generateOnboarded(t, program))
		kubectl(t, cp, "apply", "--server-side", "-f", file, "-l", "!trainyard.dev/access")
		awaitPolicy(t, cp, "onboarded")
		kubectl(t, cp, "apply", "--server-side", "-f", file)
		a.Await(t, &a.Policy)

		kubectl(t, cp, "delete", "-f", file, "-l", "trainyard.dev/access")
		a.Await(t, &a.Rights)
		kubectl(t, cp, "delete", "-f", file, "-l", "!trainyard.dev/keep,!trainyard.dev/access")
		if admitted := a.Admitted.Load(); admitted != 0 {
			t.Fatalf("%d TrainJobs were admitted by round %d", admitted, i+1)
		}
	}
	t.Logf("%d rounds: %d TrainJobs were refused by the policy and %d for lack of rights", times, a.Policy.Load(), a.Rights.Load())
}

func generateOnboarded(t *testing.T, program string) []byte {
	t.Helper()
	cmd := exec.Command(program, "generate", "-f", "-")
	cmd.Stdin = strings.NewReader(`
apiVersion: trainyard.dev/v1alpha1
kind: Platform
metadata: {name: onboarding}
spec:
  runtimes:
    mpi: {from: openmpi-cpu, image: quay.io/acme/openmpi:4.1.6}
  tenants:
    onboarded: {runtimes: [mpi], editors: {groups: [onboarded]}}
`)
	text, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func write(t *testing.T, file string, text []byte) {
	t.Helper()
	if err := os.WriteFile(file, text, 0o600); err != nil {
		t.Fatal(err)
	}
}
