// Package attack submits hostile TrainJobs as an editor of a tenant, while other code adds and removes the tenant.
package attack

import (
	"context"
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trainyard/trainyard/api/v1alpha1"
	"github.com/trainyard/trainyard/test/poll"
)

// pauseBetweenJobs is the time between two TrainJobs.
const pauseBetweenJobs = 5 * time.Millisecond

// awaitTimeout is how long Await waits.
const awaitTimeout = 3 * time.Minute

// Attack submits TrainJobs as an editor, and counts how many TrainJobs the API server admits or
// refuses.
type Attack struct {
	// Admitted counts the TrainJobs that the admission policy admitted. The field Policy counts the TrainJobs that the
	// admission policy refused. The field Rights counts the TrainJobs that the API server refused because the editor
	// had no right to create TrainJobs.
	Admitted, Policy, Rights atomic.Int64
}

// Start submits TrainJobs until the test ends. Each TrainJob refers to a runtime that the tenant does not list. Start
// submits the TrainJobs as an editor of the tenant: a user in the group that has the same name as the tenant's namespace.
func Start(t testing.TB, config *rest.Config, namespace string) *Attack {
	t.Helper()
	config = rest.CopyConfig(config)
	config.QPS = -1
	config.Impersonate = rest.ImpersonationConfig{UserName: "mallory", Groups: []string{namespace, "system:authenticated"}}
	editor, err := client.New(config, client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	a, done := &Attack{}, make(chan struct{})
	ctx, cancel := context.WithCancel(context.Background())
	t.Cleanup(func() { cancel(); <-done })
	go func() {
		defer close(done)
		for i := 0; ctx.Err() == nil; i++ {
			a.submit(ctx, editor, namespace, i)
			time.Sleep(pauseBetweenJobs)
		}
	}()
	return a
}

// submit creates a TrainJob, and increases the counter that belongs to the API server's answer. Answers of an unknown
// type increase no counter.
func (a *Attack) submit(ctx context.Context, editor client.Client, namespace string, i int) {
	err := editor.Create(ctx, &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": v1alpha1.TrainerAPIVersion, "kind": "TrainJob",
		"metadata": map[string]any{"name": fmt.Sprintf("hostile-%d", i), "namespace": namespace},
		"spec":     map[string]any{"runtimeRef": map[string]any{"name": "unlisted"}},
	}})
	switch {
	case err == nil:
		a.Admitted.Add(1)
	case strings.Contains(err.Error(), "ValidatingAdmissionPolicy"):
		a.Policy.Add(1)
	case apierrors.IsForbidden(err):
		a.Rights.Add(1)
	case strings.Contains(err.Error(), "admission webhook"):
		// Trainer's webhook runs after the admission policy, and refuses TrainJobs whose runtime does not exist. A
		// refusal by Trainer's webhook therefore shows that the admission policy has admitted the TrainJob.
		a.Admitted.Add(1)
	}
}

// Rounds returns the number of times that a test adds and removes a tenant. Rounds reads the number of rounds
// from the environment variable TRAINYARD_ONBOARDINGS. If the environment variable is empty, the function
// Rounds returns the argument "byDefault".
func Rounds(t testing.TB, byDefault int) int {
	t.Helper()
	text := os.Getenv("TRAINYARD_ONBOARDINGS")
	if text == "" {
		return byDefault
	}
	rounds, err := strconv.Atoi(text)
	if err != nil {
		t.Fatalf("TRAINYARD_ONBOARDINGS: %v", err)
	}
	return rounds
}

// Await waits until a counter of the attack has increased by 10.
func (a *Attack) Await(t testing.TB, counter *atomic.Int64) {
	t.Helper()
	want := counter.Load() + 10
	poll.Until(t, awaitTimeout, func(context.Context) error {
		if n := counter.Load(); n < want {
			return fmt.Errorf("the counter of TrainJobs is %d, want %d", n, want)
		}
		return nil
	})
}
