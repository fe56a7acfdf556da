//go:build linux

package e2e

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"sigs.k8s.io/yaml"

	"github.com/trainyard/trainyard/api/jobs"
	"github.com/trainyard/trainyard/test/repo"
)

// machineAddress is the address at which pods reach the machine that runs the tests (see network.go in test/cluster).
const machineAddress = "198.18.0.1"

// sdkResult is the output of testdata/sdk.py.
type sdkResult struct {
	Listed    bool     // whether list_runtimes returns the runtime
	Runtime   string   // the name, framework and devices of the runtime
	Nodes     int      // of the running job
	Steps     []string // steps of the running job, with their pods and devices; the step node-0 is the launcher
	Resources map[jobs.Role]corev1.ResourceRequirements
	Status    string   // of the completed job
	Log       []string // of the launcher
	Events    []string // the reasons of the events of the job's pods
	Deleted   bool     // whether the job is gone after delete_job
}

// sdkRuntimes lists the runtimes with which the SDK is tested. The runtimes with "strict" in their names use a user id
// that is not in the image, and a read-only root file system.
var sdkRuntimes = []string{
	"openmpi", "openmpi-strict", "openmpi5", "openmpi5-strict", "mpich-sdk", "mpich-sdk-strict", "intel-sdk", "intel-sdk-strict",
	"openmpi-gpu", "horovod-gpu", "horovod-openmpi", "deepspeed",
}

// TestSDKTrainsAFunction passes a Python function to TrainerClient.train of the Kubeflow SDK. The call also sets
// environment variables, resources and one additional package.
func TestSDKTrainsAFunction(t *testing.T) {
	t.Parallel()
	s := useSDK(t)
	bases := readBases(t)
	index := packageIndex(t, "humanize==4.13.0")
	s.advertiseGPUs(t)
	for _, name := range sdkRuntimes {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			resources, device := map[string]string{"cpu": "400m", "memory": "600Mi"}, "400m cpu"
			runtime, namespace := name, s.makeNamespace(t)
			if needsGPUs[bases[name]] {
				resources["gpu"], device = "2", "2 gpu"
				runtime = s.addNvidiaSMI(t, name, namespace)
			}
			got := s.trainWithSDK(t, namespace, runtime, resources, index)
			if !slices.Contains(got.Events, "JOB-launcher-0-0: Started") {
				t.Errorf("the SDK returns the events %q, want the start of the launcher", got.Events)
			}
			got.Events = nil
			if diff := cmp.Diff(wantFromSDK(runtime, resources, device), got); diff != "" {
				t.Errorf("the SDK's results: -want +got:\n%s", diff)
			}
		})
	}
}

// wantFromSDK returns the result that the SDK must report for a runtime. The argument "device" is a text
// such as "2 gpu": the number and the kind of the devices of each node.
func wantFromSDK(runtime string, resources map[string]string, device string) sdkResult {
	_, kind, _ := strings.Cut(device, " ")
	want := sdkResult{
		Listed: true, Runtime: runtime + ": mpi, 2 " + kind, Nodes: 2, Status: "Complete", Deleted: true,
		Steps: []string{"node-0: JOB-launcher-0-0, " + device, "node-1: JOB-node-0-0, " + device},
	}
	for rank, host := range []string{"launcher-0-0", "launcher-0-0", "node-0-0", "node-0-0"} {
		want.Log = append(want.Log, fmt.Sprintf("rank %d of 4 on JOB-%s: sum=100 hello", rank, host))
	}
	list := corev1.ResourceList{}
	for name, amount := range resources {
		if name == "gpu" {
			name = gpuResource
		}
		list[corev1.ResourceName(name)] = resource.MustParse(amount)
	}
	both := corev1.ResourceRequirements{Limits: list, Requests: list}
	want.Resources = map[jobs.Role]corev1.ResourceRequirements{jobs.Launcher: both, jobs.Node: both}
	return want
}

// TestSDKTrainsOnEveryShippedRuntime checks that sdkRuntimes contains a runtime for each entry of the catalogue.
func TestSDKTrainsOnEveryShippedRuntime(t *testing.T) {
	t.Parallel()
	useSDK(t)
	bases, tested, shipped := readBases(t), map[string]bool{}, map[string]bool{}
	for _, name := range sdkRuntimes {
		tested[bases[name]] = true
	}
	entry := regexp.MustCompile(`(?m)^catalogue: "([^"]+)": \{$`)
	files, err := filepath.Glob(repo.Path(t, "runtimes/*.cue"))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range entry.FindAllStringSubmatch(string(text), -1) {
			shipped[m[1]] = true
		}
	}
	if diff := cmp.Diff(shipped, tested); diff != "" {
		t.Errorf("catalogue entries: -shipped +tested:\n%s", diff)
	}
}

// readBases returns, for each runtime in testdata/platform.yaml, the name of the catalogue entry that the runtime extends.
func readBases(t *testing.T) map[string]string {
	t.Helper()
	text, err := os.ReadFile("testdata/platform.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var document struct {
		Spec struct {
			Runtimes map[string]struct{ From string }
		}
	}
	if err := yaml.Unmarshal(text, &document); err != nil {
		t.Fatal(err)
	}
	bases := map[string]string{}
	for name, r := range document.Spec.Runtimes {
		bases[name] = r.From
	}
	return bases
}

// TestSDKFailsWithoutOwnMpirun uses runtimes of MPICH and Intel MPI in which PATH does not start with the folder of
// trainyard's mpirun. With these runtimes, jobs of the SDK must fail. The reason is that Hydra (the launcher of MPICH
// and Intel MPI) gets a hostfile that it cannot read. docs/python.md describes this failure. The rule
// unreadable-hostfile of `trainyard vet` reports such jobs.
func TestSDKFailsWithoutOwnMpirun(t *testing.T) {
	t.Parallel()
	s := useSDK(t)
	for _, runtime := range []string{"mpich", "intel"} {
		t.Run(runtime, func(t *testing.T) {
			t.Parallel()
			resources := map[string]string{"cpu": "500m", "memory": "512Mi"}
			if got := s.trainWithSDK(t, s.makeNamespace(t), runtime, resources, ""); got.Status != "Failed" {
				t.Errorf("the job has the status %s, want Failed", got.Status)
			}
		})
	}
}

func TestSDKRunsTheDocumentedProgram(t *testing.T) {
	t.Parallel()
	s := useSDK(t)
	page, err := os.ReadFile(repo.Path(t, "docs/python.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, program, _ := strings.Cut(string(page), "```python\n")
	program, _, _ = strings.Cut(program, "```")
	file := filepath.Join(t.TempDir(), "train.py")
	if err := os.WriteFile(file, []byte(strings.ReplaceAll(program, "team-vision", s.makeNamespace(t))), 0o644); err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), sdkPython, file)
	cmd.Env = append(os.Environ(), "KUBECONFIG="+s.kubeconfig)
	out, err := cmd.CombinedOutput()
	if err != nil || !strings.Contains(string(out), "rank 3 of 4: sum=100\n") {
		t.Errorf("%v: the program prints %s, want rank 3 of 4: sum=100", err, out)
	}
}

func useSDK(t *testing.T) *sandbox {
	t.Helper()
	if sdkPython == "" {
		t.Skip("needs the Kubeflow SDK: run `make sdk`")
	}
	return useCluster(t)
}

var sdkPython = os.Getenv("TRAINYARD_SDK")

// trainWithSDK runs testdata/sdk.py, and returns its result. The log in the result contains only the lines that ranks
// print, in sorted order.
func (s *sandbox) trainWithSDK(t *testing.T, namespace, runtime string, resources map[string]string, index string) sdkResult {
	t.Helper()
	perNode, err := json.Marshal(resources)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if t.Failed() {
			t.Log(s.describeNamespace(namespace))
		}
	})
	var stderr bytes.Buffer
	cmd := exec.CommandContext(t.Context(), sdkPython, "testdata/sdk.py", s.kubeconfig, namespace, runtime, string(perNode), index)
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	var result sdkResult
	if err == nil {
		err = json.Unmarshal(out, &result)
	}
	if err != nil {
		t.Fatalf("%v: %s\n%s", err, out, &stderr)
	}
	t.Logf("%s", out)
	result.Log = slices.DeleteFunc(result.Log, func(line string) bool { return !strings.HasPrefix(line, "rank ") })
	slices.Sort(result.Log)
	return result
}

// packageIndex downloads a package from the Python Package Index, and returns the URL of a server that offers this
// package to pods.
func packageIndex(t *testing.T, requirement string) string {
	t.Helper()
	name, _, _ := strings.Cut(requirement, "==")
	dir := t.TempDir()
	cmd := exec.CommandContext(t.Context(), sdkPython, "-m", "pip", "download", "--quiet", "--no-deps", "--dest", filepath.Join(dir, name), requirement)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	listener, err := net.Listen("tcp", machineAddress+":0")
	if err != nil {
		t.Fatal(err)
	}
	// If pip requests a folder, the server returns links to the folder's files, as a package index does.
	server := httptest.NewUnstartedServer(http.FileServer(http.Dir(dir)))
	server.Listener = listener
	server.Start()
	t.Cleanup(server.Close)
	return server.URL + "/"
}
