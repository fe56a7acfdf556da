// Package controlplane starts a real Kubernetes control plane for tests: etcd, kube-apiserver, and the upstream
// Trainer and JobSet with their CRDs, webhooks and controllers. Nothing is mocked. Programs come from .tools/bin (run
// `make tools`), and manifests come from the Go module cache, so this repository contains no copies of upstream
// files.
//
// By default there are no Kubernetes nodes and no kube-controller-manager, so no pods are created and no objects are
// garbage collected. The tests check objects, and each test uses its own namespace. The option Pods starts
// controllers that create pods and enforce ResourceQuotas. The pods stay Pending.
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
// The CRDs of Kueue and of monitoring operators are installed, but not the operators. Only with the option
// Queueing, the control plane runs Kueue's controller. Package test/scale runs Kueue's controllers.
//
// The option Trainer selects a version of Trainer other than the default version.
package controlplane
