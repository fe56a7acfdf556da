// Package controlplane starts a real Kubernetes control plane for tests: etcd and
// kube-apiserver, and on them the upstream Trainer and JobSet with their own CRDs,
// webhooks and controllers. Nothing is faked and nothing upstream is copied here:
// binaries come from .tools/bin (run `make tools`), manifests from the Go module cache.
//
// There are no nodes and no kube-controller-manager, so nothing ever becomes a pod and
// nothing is garbage collected: tests judge objects, and each works in its own namespace. With
// the option Pods there are pods, which stay Pending, and ResourceQuotas are counted.
//
// A test binary shares one control plane per version of Trainer, because starting takes seconds:
//
//	func TestMain(m *testing.M) { os.Exit(controlplane.Main(m)) }
//
//	func TestSomething(t *testing.T) {
//		cp := controlplane.Start(t)
//		namespace := cp.Namespace(t)
//		...
//	}
//
// Kueue's CRDs are there as well, without Kueue itself (test/scale has that), and those of what watches a platform.
//
// Options ask for another version of Trainer than the default.
package controlplane
