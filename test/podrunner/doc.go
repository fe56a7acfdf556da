// Package podrunner runs the containers of a pod on this machine, as a kubelet would. The package uses only Linux
// namespaces, so it needs no container runtime, no image and no root privileges.
//
// The container's command is process 1 in its PID namespace. A container can run the machine's programs. It has its own
// /etc, the volumes that it mounts, the pod's host name and a termination log. The user id of a container has no passwd
// entry. A container has no capabilities. By default, all pods of a test binary share one network, in which only
// 127.0.0.0/8 exists. The tests run in the same network as the pods, so tests and pods can connect to each other.
//
//	func TestMain(m *testing.M) { os.Exit(podrunner.Main(m)) }
//
//	func TestSomething(t *testing.T) {
//		pod := podrunner.NewPod(t, "launcher-0-0", spec.Volumes)
//		result := pod.Run(spec.InitContainers[0])
//		...
//	}
//
// Resources, probes, restarts and seccomp profiles are not supported. The spec of a container must contain its
// command, because there is no image.
package podrunner
