// Package lanes records when each lane of tests last passed, and reports whether the inputs of the lane have changed
// since then. A lane is a make target that runs a group of tests. Most lanes need real pods, network packets, Argo CD or
// much time.
package lanes

import (
	"slices"
	"strings"
)

// Lane is a make target whose results are recorded.
type Lane struct {
	Name   string   // the name of the make target
	Tests  string   // what the lane tests, as a noun phrase
	Needs  string   // what the machine needs, besides Debian and two cores
	Inputs []string // files and folders of the repository whose change can change the result
	Except []string // files and folders below Inputs whose change cannot change the result
}

// objects is the list of inputs for lanes that apply generated objects. The list contains
// bundles/rendered instead of the generator's Go packages. `make test` checks that bundles/rendered
// equals the generator's output, so every change of the output also changes bundles/rendered.
var objects = []string{"runtimes", "policies", "schemas", "generator/objects", "bundles/rendered", "api/v1alpha1", "api/message", "test/build", "test/poll", "test/process", "test/repo", "test/upstream", "tools", moduleFile}

// pods is the list of inputs for the lanes that run pods. The list contains the folder api, because
// the tests of these lanes use the package api/jobs to read the states of TrainJobs.
var pods = append([]string{"api", "test/cluster", "test/images"}, objects...)

// cue is a list of inputs for several lanes. The list contains go.mod, embed.go, and some of the folders from which
// embed.go embeds CUE files. embed.go also embeds CUE files from the folders generator/ and policies/. The list
// contains neither generator/ nor policies/, because listLanes adds these two folders to the inputs of each lane that
// uses the list.
var cue = []string{moduleFile, "embed.go", "cue.mod", "runtimes", "schemas", "grafana"}

// productFolders lists folders with packages of the product. Only the lanes in productLanes run the tests in these
// folders. Other lanes use the code of these packages, but not the tests in these folders. Therefore, a change of a
// test, or of its data, makes only the lanes in productLanes stale. productFolders does not contain the folder
// "bundles", because the lane "bench" runs a benchmark in this folder. productFolders does not contain the folder
// "policies", because the tests of the lane "trainers" read policies/testdata.
var (
	productFolders = []string{"api", "cmd", "controller", "generator"}
	productLanes   = []string{"test", "race", "fuzz"}
)

// ignores(path) returns true if the file with this path cannot influence the result of the lane. The method does not
// check whether the file is an input of the lane. The reason is that changedInputs calls this method only for inputs of
// the lane.
func (l Lane) ignores(path string) bool {
	isIn := func(folder string) bool { return isWithin(path, folder) }
	isTest := strings.HasSuffix(path, "_test.go") || strings.Contains(path, "/testdata/")
	neverRuns := isTest && slices.ContainsFunc(productFolders, isIn) && !slices.Contains(productLanes, l.Name)
	return neverRuns || slices.ContainsFunc(l.Except, isIn)
}

// readsComments reports whether comments in a file are an input of a lane. Comments in Go files are inputs only of
// lanes that test the whole repository. Comments in CUE files are also inputs of the lanes in productLanes. The product
// copies comments from schemas/platform into messages and into the descriptions of fields. Tests of the product compare
// these texts with expected texts.
func (l Lane) readsComments(path string) bool {
	return slices.Contains(l.Inputs, ".") || strings.HasSuffix(path, ".cue") && slices.Contains(productLanes, l.Name)
}

// benchTests lists files with tests of the benchmarks' own code. The lanes bench and bench-mpi do
// not run these tests, so a change of these files does not make the two lanes stale.
var benchTests = []string{"test/bench/bench_test.go", "test/bench/parity_test.go", "test/bench/report_test.go"}

const (
	command = "cmd/trainyard" // the folder of the command trainyard
	crds    = "api/crds"      // the folder of trainyard's CRDs
	e2e     = "test/e2e"      // the folder of the tests in real pods

	controlPlane = "test/controlplane" // the folder of the control plane for tests
	gitServer    = "test/gitserver"    // the folder of the Git server for tests
	internal     = "cmd/internal"      // the folder of packages that several commands use

	flux      = "tools/flux"      // the folder that pins Flux, which only the lane bench-gitops runs
	toolsPage = "tools/README.md" // a page about the tools
	pictures  = "tools/pictures"  // the program that draws pictures for docs/, which no lane runs

	gitExample = "examples/gitops" // the example of TrainJobs from Git, which only the lane gitops runs
)

// controllerTypes lists the files of api/v1alpha1 that are used only by trainyard-controller and its
// clients.
var controllerTypes = []string{"api/v1alpha1/trainjobsource_register.go", "api/v1alpha1/trainjobsource_status.go", "api/v1alpha1/trainjobsource_types.go", "api/v1alpha1/zz_generated.deepcopy.go"}

// All returns all lanes, in the order in which people run them.
func All() []Lane {
	lanes := listLanes()
	for i, lane := range lanes {
		lanes[i].Except = slices.Concat(lane.Except, exceptions(lane))
	}
	return lanes
}

// diagnosis is the path of the folder with the catalogue of failures. Only lanes in the list "diagnosing" have this
// folder as an input, because diagnoses cannot change the results of the other lanes. The lanes "smoke", "hosts",
// "sdk", "e2e-horovod", "scale" and "bench-mpi" contain no test that checks a diagnosis. The lane "bench" runs no
// TrainJobs. The lane "bench-gitops" measures only the controller of TrainJobSources.
const diagnosis = "api/jobs/diagnosis"

var diagnosing = []string{"test", "e2e", "kueue", "gitops", "race", "fuzz", "bench-jobs"}

// sources is the path of the folder with the controller of TrainJobSources. The lanes in withoutSources start this
// controller together with the controller of TrainJobs, because both are in one program. However, these lanes
// create no TrainJobSource, so only the setup of the controller runs. Therefore, a change of this folder does not
// make these lanes stale.
const sources = "controller/trainjobsource"

var withoutSources = []string{"e2e", "kueue", "bench-jobs"}

// exceptions returns files and folders that cannot change the result of a lane, even if they are inside an input folder
// of the lane. The function All adds these files and folders to the exceptions that listLanes defines.
func exceptions(l Lane) (found []string) {
	hasInput := func(input string) bool { return slices.Contains(l.Inputs, input) }
	if hasInput(".") {
		return nil
	}
	if hasInput("tools") {
		found = append(found, toolsPage, pictures)
	}
	if hasInput("tools") && !hasInput(flux) {
		found = append(found, flux)
	}
	if hasInput("api") && !slices.Contains(diagnosing, l.Name) {
		found = append(found, diagnosis)
	}
	if slices.Contains(withoutSources, l.Name) {
		found = append(found, sources)
	}
	if !hasInput("controller") {
		found = append(found, controllerTypes...)
	}
	if !hasInput("controller") && !hasInput(crds) {
		found = append(found, crds)
	}
	return found
}

func listLanes() []Lane {
	return []Lane{
		{"test", "unit tests, scripts, and suites on one real API server", "", []string{"."}, nil},
		{"trainers", "the suites on a real API server, with every supported Trainer and Kueue", "", append([]string{crds, controlPlane, "test/matrix", "test/attack", "test/guardtest", "bundles", command, "generator/capacity", "generator/internal/resources", "generator/vet"}, objects...), nil},
		{"smoke", "one job of each MPI implementation, and one of the Kubeflow SDK", "root", append([]string{e2e}, pods...), nil},
		{"e2e", "MPI jobs in real pods", "root", append([]string{e2e, command, "controller", "test/jobreport", "docs/trying.md", "examples"}, pods...), []string{gitExample}},
		{"hosts", "MPI jobs with 100 hosts, each in a pod of its own", "root", append([]string{e2e}, pods...), nil},
		{"sdk", "the Kubeflow SDK, against every shipped runtime in real pods", "root", append([]string{e2e, "docs/python.md"}, pods...), nil},
		{"e2e-horovod", "Horovod in real pods", "root, and ten minutes to compile Horovod", append([]string{e2e}, pods...), nil},
		{"kueue", "jobs that wait for quota, on simulated cluster nodes", "", append([]string{"test/scale", "test/matrix", "test/jobreport", "controller", "examples", "generator/capacity", "generator/internal/resources"}, pods...), []string{"examples/jobs", gitExample}},
		{"scale", "jobs of 100 nodes on simulated cluster nodes", "", append([]string{"test/scale", "test/matrix"}, pods...), nil},
		{"gitops", "the commands of examples/gitops, with real pods", "root", append([]string{"test/gitops", "test/kubeconfig", gitServer, "test/doctest", "examples/gitops", "docs/gitops.md", "controller", "cmd/trainyard-controller", command, internal, "policies", "generator"}, pods...), nil},
		{"packets", "network policies with real connections", "user namespaces", append([]string{"test/packets", "test/podrunner", controlPlane}, objects...), nil},
		{"argocd", "the delivery of a platform from Git with Argo CD", "", append([]string{"test/argocd", controlPlane, "test/attack", "test/doctest", "bundles", "docs/argocd.md", "docs/operations.md"}, objects...), []string{"test/argocd/objects"}},
		{"crash", "the writer of folders, killed or out of memory or disk space", "root", []string{moduleFile, "api/v1alpha1", "bundles", command, "generator/object", "test/crash"}, nil},
		{"race", "the tests of the product's packages, with the race detector", "", append([]string{"bundles", "cmd", "controller", "generator", "policies", "api", "examples", gitServer}, cue...), []string{gitExample, "test/gitserver/cmd"}},
		{"fuzz", "fuzz tests of the code that reads and writes text", "", append([]string{"generator", "bundles", "policies", "api", internal, "cmd/trainyard-fn", "test/guardtest", "test/repo"}, cue...), nil},
		{"bench", "the speed of trainyard, compared with kustomize and cue", "a quiet machine", append([]string{"generator", "bundles", "policies", "api", internal, command, "cmd/trainyard-fn", "test/bench", "tools/kustomize", "tools/cue", "tools/helm-4"}, cue...), benchTests},
		{"bench-gitops", "the speed of trainyard-controller, compared with Flux", "a quiet machine", append([]string{"api", "test/gitbench", "test/kubeconfig", gitServer, controlPlane, "controller", "cmd/trainyard-controller", internal, "policies", "generator", flux}, objects...), nil},
		{"bench-jobs", "the speed and memory of trainyard-controller with thousands of running TrainJobs", "a quiet machine", append([]string{"api", "test/gitbench", "test/kubeconfig", gitServer, controlPlane, "controller", "cmd/trainyard-controller", internal, "policies", "generator"}, objects...), nil},
		{"bench-mpi", "the speed of MPI in pods, compared with plain mpirun", "root and a quiet machine", append([]string{e2e, "test/bench"}, pods...), append([]string{"test/bench/workload"}, benchTests...)},
	}
}
