// Package controlplane starts a real Kubernetes control plane for tests: etcd, kube-apiserver, and the
// upstream Trainer and JobSet with their CRDs, webhooks and controllers. Nothing is mocked, and no upstream
// file is copied into this repository: programs come from .tools/bin (run `make tools`), manifests from the
// Go module cache.
//
// By default there are no nodes and no kube-controller-manager, so that no pods are created and nothing is
// garbage collected: tests check objects, and each test uses its own namespace. With the option Pods, pods
// are created and stay Pending, and ResourceQuotas are enforced.
//
// A test binary shares one control plane per set of options, because a start takes seconds:
//
//	func TestMain(m *testing.M) { os.Exit(controlplane.Main(m)) }
//
//	func TestSomething(t *testing.T) {
//		cp := controlplane.Start(t)
//		namespace := cp.Namespace(t)
//		...
//	}
//
// Kueue's CRDs are installed without Kueue itself, which test/scale runs, and so are the CRDs of monitoring
// operators.
//
// Options select another version of Trainer than the default.
package controlplane
