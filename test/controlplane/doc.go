// Package controlplane starts a real Kubernetes control plane for tests: etcd, kube-apiserver, and the upstream
// Trainer and JobSet with their CRDs, webhooks and controllers. Nothing is mocked. Programs come from .tools/bin (run
// `make tools`), and manifests come from the Go module cache, so this repository contains no copies of upstream
// files.
//
// By default, the control plane has no cluster nodes and no kube-controller-manager. Therefore no pods are created, and
// no objects are garbage collected. Tests can check Jobs and other objects, but they cannot check pods. With the option
// Pods, the control plane also runs the controllers that create pods, enforce ResourceQuotas, and collect garbage. The
// created pods stay Pending. Each test uses its own namespace.
//
// If several tests in a test binary use the same options, the tests share one control plane, because starting
// a control plane takes seconds:
//
//	func TestMain(m *testing.M) { os.Exit(controlplane.Main(m)) }
//
//	func TestSomething(t *testing.T) {
//		cp := controlplane.Start(t)
//		namespace := cp.Namespace(t)
//		...
//	}
//
// The control plane has the CRDs of Kueue and of monitoring operators, but runs no monitoring operators.
// It runs Kueue's controller only with the option Queueing. Package test/scale tests trainyard with
// Kueue's controllers and webhooks, on a cluster with simulated pods.
//
// The option Trainer selects a version of Trainer other than the default version.
package controlplane
