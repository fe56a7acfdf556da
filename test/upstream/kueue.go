package upstream

import "os/exec"

// Kueue admits TrainJobs by quota. It gets to see no other kinds of jobs, and serves no
// metrics and no API of its own.
var Kueue = Manager{
	Name: "kueue", module: "sigs.k8s.io/kueue", folders: []string{"config/default"},
	args: []string{"--feature-gates=VisibilityOnDemand=false"},
	// It reads a certificate for metrics from here, even where it serves none.
	wants: "/etc/kueue/metrics/certs",
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

// Queues are Kueue's CRDs for an API server on which Kueue does not run: nobody converts between
// versions, so that only the one that is stored can be used.
func (t Toolbox) Queues() (Manifests, error) {
	read, err := t.Manifests(Kueue)
	for _, crd := range read.CRDs {
		crd.Spec.Conversion = nil
	}
	return Manifests{CRDs: read.CRDs}, err
}

// withFolder is a command that finds the files of a folder at a place below /etc. That holds
// for no other program of the machine, and is gone when it ends: it has a mount namespace of
// its own, and a user namespace, so that no root is needed (unshare(1)). Its /etc is empty
// otherwise.
func withFolder(folder, place, program string, args ...string) *exec.Cmd {
	const script = `mount -t tmpfs tmpfs /etc && mkdir -p "$2" && cp -R "$1/." "$2" && shift 2 && exec "$@"`
	all := append([]string{"--map-root-user", "--mount", "sh", "-c", script, "sh", folder, place, program}, args...)
	return exec.Command("unshare", all...)
}
