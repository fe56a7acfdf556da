// Package lanes records when each lane of tests last passed, and whether the inputs of the lane have changed since then.
// A lane is a make target that needs real pods, packets, Argo CD or much time, so it does not run for every change.
package lanes

// Lane is a make target whose results are recorded.
type Lane struct {
	Name   string   // the name of the make target
	Tests  string   // what the lane tests, as a noun phrase
	Needs  string   // what the machine needs, besides Debian and two cores
	Inputs []string // files and folders of the repository whose change can change the result
}

// objects lists the inputs of lanes that apply generated objects. The files in bundles/rendered stand for the generator,
// because `make test` checks that they equal its output.
var objects = []string{"runtimes", "policies", "schemas", "generator/objects", "bundles/rendered", "test/build", "test/poll", "test/process", "tools", "go.mod"}

// pods lists the inputs of lanes that run pods.
var pods = append([]string{"api/jobs", "test/cluster", "test/images"}, objects...)

// All lists all lanes, in the order in which people run them.
func All() []Lane {
	return []Lane{
		{"test", "unit tests, scripts, and suites on one real API server", "", []string{"."}},
		{"trainers", "the suites on a real API server, with every supported Trainer and Kueue", "", append([]string{"test/controlplane", "test/upstream", "test/matrix", "test/attack"}, objects...)},
		{"e2e", "MPI jobs in real pods", "root", append([]string{"test/e2e"}, pods...)},
		{"hosts", "MPI jobs with 100 hosts, each in a pod of its own", "root", append([]string{"test/e2e/hosts_test.go", "test/e2e/testdata"}, pods...)},
		{"e2e-horovod", "Horovod in real pods", "root, and an hour to compile Horovod", append([]string{"test/e2e"}, pods...)},
		{"kueue", "jobs that wait for quota, on simulated cluster nodes", "", append([]string{"test/scale", "test/upstream", "examples"}, objects...)},
		{"scale", "jobs of 100 nodes on simulated cluster nodes", "", append([]string{"test/scale"}, objects...)},
		{"packets", "network policies with real connections", "user namespaces", append([]string{"test/packets", "test/podrunner"}, objects...)},
		{"argocd", "the delivery of a platform from Git with Argo CD", "", append([]string{"test/argocd", "bundles", "docs/argocd.md", "docs/operations.md"}, objects...)},
		{"crash", "the writer of folders, killed or out of memory or disk space", "root for full disks", []string{"bundles", "cmd/trainyard", "test/crash"}},
		{"race", "the tests of the product's packages, with the race detector", "", []string{"bundles", "cmd", "generator"}},
		{"fuzz", "fuzz tests of the code that reads and writes text", "", []string{"generator", "bundles", "policies/guard", "cmd/trainyard-fn"}},
		{"bench", "the speed of trainyard, compared with kustomize and cue", "a quiet machine", []string{"generator", "bundles", "runtimes", "policies", "schemas", "cmd/trainyard", "test/bench"}},
		{"bench-mpi", "the speed of MPI in pods, compared with plain mpirun", "root and a quiet machine", append([]string{"test/e2e/speed_test.go", "test/e2e/testdata"}, pods...)},
	}
}
