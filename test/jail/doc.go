// Package jail runs the containers of a pod on this machine the way a kubelet would, from
// Linux namespaces alone: no container runtime, no image, no root.
//
// A container is process 1 of its own. It sees the machine's programs, an /etc of its own
// and the volumes that it mounts; it has the pod's host name, a termination log, a user id
// that no passwd file knows, and no capabilities. All pods of a test binary share one
// network, in which only 127.0.0.0/8 exists. The tests are in that network, too, so a test
// can be the other end of a connection.
//
//	func TestMain(m *testing.M) { os.Exit(jail.Main(m)) }
//
//	func TestSomething(t *testing.T) {
//		pod := jail.NewPod(t, "launcher-0-0", spec.Volumes)
//		result := pod.Run(spec.InitContainers[0])
//		...
//	}
//
// It knows nothing of resources, probes, restarts and seccomp, and takes a container's
// command from its spec only, because there is no image that could have one.
package jail
