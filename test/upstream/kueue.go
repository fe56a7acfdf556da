package upstream

import "os/exec"

// Kueue admits TrainJobs by quota. In tests, Kueue manages only TrainJobs, and serves neither metrics nor its
// visibility API.
var Kueue = Manager{
	Name: "kueue", Account: "system:serviceaccount:kueue-system:kueue-controller-manager", module: "sigs.k8s.io/kueue", folders: []string{"config/default"},
	args: []string{"--feature-gates=VisibilityOnDemand=false"},
	// Kueue reads a certificate for metrics from the folder certDir, even if Kueue serves no metrics.
	certDir: "/etc/kueue/metrics/certs",
	config: `
apiVersion: config.kueue.x-k8s.io/v1beta2
kind: Configuration
internalCertManagement: {enable: false}
leaderElection: {leaderElect: false}
metrics: {bindAddress: "0"}
webhook: {host: 127.0.0.1, port: $PORT, certDir: "$CERTS"}
health: {healthProbeBindAddress: "$HEALTH"}
integrations: {frameworks: ["trainer.kubeflow.org/trainjob"]}
`,
}

// Queues returns Kueue's CRDs for an API server without Kueue. Tests can use only the storage version of each Kueue CRD,
// because no webhook converts objects between versions.
func (t Toolbox) Queues() (Manifests, error) {
	read, err := t.Manifests(Kueue)
	for _, crd := range read.CRDs {
		crd.Spec.Conversion = nil
	}
	return Manifests{CRDs: read.CRDs}, err
}

// withFolder returns a command that first mounts an empty file system at /etc. Then the command copies the given folder
// to the path "target", which is below /etc. Finally, the command runs the given program. In /etc, the program finds
// only the copied folder. Only the program sees the mount at /etc, because the program has its own mount namespace. The
// program also has its own user namespace, so the mount needs no root privileges (see unshare(1)).
func withFolder(folder, target, program string, args ...string) *exec.Cmd {
	const script = `mount -t tmpfs tmpfs /etc && mkdir -p "$2" && cp -R "$1/." "$2" && shift 2 && exec "$@"`
	all := append([]string{"--map-root-user", "--mount", "sh", "-c", script, "sh", folder, target, program}, args...)
	return exec.Command("unshare", all...)
}
