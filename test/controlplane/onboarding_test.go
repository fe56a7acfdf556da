package controlplane_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trainyard/trainyard/test/controlplane"
	"github.com/trainyard/trainyard/test/poll"
	"github.com/trainyard/trainyard/test/repo"
)

// onboardings is the number of times that the test adds and removes a tenant. TRAINYARD_ONBOARDINGS overrides this
// number.
const onboardings = 3

// TestNoTrainJobEscapesDuringOnboarding adds and removes a tenant several times, as docs/tenants.md describes.
// Meanwhile, an editor of the tenant submits TrainJobs with a runtime that the tenant does not list. The API server
// must admit none of these TrainJobs.
func TestNoTrainJobEscapesDuringOnboarding(t *testing.T) {
	times := onboardings
	if text := os.Getenv("TRAINYARD_ONBOARDINGS"); text != "" {
		number, err := strconv.Atoi(text)
		if err != nil {
			t.Fatal(err)
		}
		times = number
	}
	cp := controlplane.Start(t)
	a := startAttack(t, cp, "onboarded")
	file := filepath.Join(t.TempDir(), "objects.yaml")
	program := repo.Build(t)
	for i := range times {
		write(t, file, generateOnboarded(t, program))
		kubectl(t, cp, "apply", "--server-side", "-f", file, "-l", "!trainyard.dev/access")
		awaitPolicy(t, cp, "onboarded")
		kubectl(t, cp, "apply", "--server-side", "-f", file)
		a.await(t, a.refusedByPolicy.Load()+10, &a.refusedByPolicy)

		kubectl(t, cp, "delete", "-f", file, "-l", "trainyard.dev/access")
		a.await(t, a.refusedByRights.Load()+10, &a.refusedByRights)
		kubectl(t, cp, "delete", "-f", file, "-l", "!trainyard.dev/keep,!trainyard.dev/access")
		if admitted := a.admitted.Load(); admitted != 0 {
			t.Fatalf("%d TrainJobs were admitted by round %d", admitted, i+1)
		}
	}
	t.Logf("%d rounds: %d TrainJobs were refused by the policy and %d for lack of rights", times, a.refusedByPolicy.Load(), a.refusedByRights.Load())
}

// generateOnboarded returns the objects of a platform with one tenant.
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

// attack counts the answers to the TrainJobs that an editor submits.
type attack struct {
	admitted, refusedByPolicy, refusedByRights atomic.Int64
}

// startAttack creates the namespace, and submits TrainJobs with an unlisted runtime in it until the test ends.
func startAttack(t *testing.T, cp *controlplane.ControlPlane, namespace string) *attack {
	t.Helper()
	ns := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "Namespace", "metadata": map[string]any{"name": namespace}}}
	if err := cp.Client().Create(t.Context(), ns); err != nil && !apierrors.IsAlreadyExists(err) {
		t.Fatal(err)
	}
	config := cp.Config()
	config.QPS = -1
	config.Impersonate = rest.ImpersonationConfig{UserName: "mallory", Groups: []string{namespace, "system:authenticated"}}
	editor, err := client.New(config, client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	a, done := &attack{}, make(chan struct{})
	ctx, cancel := context.WithCancel(context.Background())
	t.Cleanup(func() { cancel(); <-done })
	go func() {
		defer close(done)
		for i := 0; ctx.Err() == nil; i++ {
			a.submit(ctx, editor, namespace, i)
		}
	}()
	return a
}

// submit submits a TrainJob, and counts the answer.
func (a *attack) submit(ctx context.Context, editor client.Client, namespace string, i int) {
	job := &unstructured.Unstructured{Object: trainJob(fmt.Sprintf("hostile-%d", i), namespace, "unlisted")}
	err := editor.Create(ctx, job)
	switch {
	case err == nil:
		a.admitted.Add(1)
	case strings.Contains(err.Error(), "ValidatingAdmissionPolicy"):
		a.refusedByPolicy.Add(1)
	case apierrors.IsForbidden(err):
		a.refusedByRights.Add(1)
	case strings.Contains(err.Error(), "admission webhook"):
		// The policy admitted the TrainJob. Trainer's webhook runs after the policy, and refuses runtimes that do not
		// exist.
		a.admitted.Add(1)
	}
	time.Sleep(5 * time.Millisecond)
}

// await waits until a counter reaches a number.
func (a *attack) await(t *testing.T, number int64, counter *atomic.Int64) {
	t.Helper()
	poll.Until(t, policyTimeout, func(context.Context) error {
		if n := counter.Load(); n < number {
			return fmt.Errorf("%d refusals, want %d", n, number)
		}
		return nil
	})
}
