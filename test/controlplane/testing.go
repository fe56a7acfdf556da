package controlplane

import (
	"context"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/trainyard/trainyard/test/poll"
)

// controllerTimeout is how long a test waits for a controller, which normally responds in less than a second.
const controllerTimeout = 30 * time.Second

// Namespace creates a namespace that no other test uses. The namespace exists until the
// control plane stops.
func (cp *ControlPlane) Namespace(t testing.TB) string {
	t.Helper()
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "test-"}}
	if err := cp.client.Create(t.Context(), namespace); err != nil {
		t.Fatalf("creating a namespace: %v", err)
	}
	return namespace.Name
}

// Eventually calls the function "check" until the function returns nil, and fails the test with the last error after a
// timeout.
func Eventually(t testing.TB, check func(context.Context) error) {
	t.Helper()
	poll.Until(t, controllerTimeout, check)
}
