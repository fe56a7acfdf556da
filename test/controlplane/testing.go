package controlplane

import (
	"context"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// patience is how long a test waits for a controller, which normally takes well under a second.
const patience = 30 * time.Second

// Namespace makes a namespace that no other test uses. It stays until the control plane ends.
func (cp *ControlPlane) Namespace(t testing.TB) string {
	t.Helper()
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "test-"}}
	if err := cp.client.Create(t.Context(), namespace); err != nil {
		t.Fatalf("making a namespace: %v", err)
	}
	return namespace.Name
}

// Eventually calls check until it returns nil, and fails the test with the last error when
// that takes too long.
func Eventually(t testing.TB, check func(context.Context) error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	for {
		err := check(ctx)
		if err == nil {
			return
		}
		select {
		case <-ctx.Done():
			t.Fatalf("gave up after %s: %v", patience, err)
		case <-time.After(50 * time.Millisecond):
		}
	}
}
