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
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/trainyard/trainyard/test/repo"
)

// machineAddress is the address at which pods reach the machine (network.go in test/cluster).
const machineAddress = "198.18.0.1"

// sdkResult is the output of testdata/sdk.py: the values that the Kubeflow SDK returns.
type sdkResult struct {
	Listed    bool     // whether list_runtimes returns the runtime
	Framework string   // of the runtime
	Status    string   // of the completed job
	Steps     []string // of the job: node-0 is the launcher
	Log       []string // of the launcher
	Events    []string // the reasons of the job's events
	Deleted   bool     // whether the job is gone after delete_job
}

// TestSDKTrainsAFunction passes a Python function to TrainerClient.train of the Kubeflow SDK, with variables, resources and
// one additional package. The function runs on each rank. The runtimes with "strict" have a user id that is not in the
// image, and a read-only root file system.
func TestSDKTrainsAFunction(t *testing.T) {
	s := useSDK(t)
	index := packageIndex(t, "humanize==4.13.0")
	for _, runtime := range []string{
		"openmpi", "openmpi-strict", "openmpi5", "openmpi5-strict", "mpich-sdk", "mpich-sdk-strict", "intel-sdk", "intel-sdk-strict",
	} {
		t.Run(runtime, func(t *testing.T) {
			got := s.trainWithSDK(t, runtime, index)
			want := sdkResult{Listed: true, Framework: "mpi", Status: "Complete", Steps: []string{"node-0", "node-1"}, Deleted: true}
			for rank, host := range []string{"launcher-0-0", "launcher-0-0", "node-0-0", "node-0-0"} {
				want.Log = append(want.Log, fmt.Sprintf("rank %d of 4 on JOB-%s: sum=100 hello", rank, host))
			}
			if !slices.Contains(got.Events, "Started") {
				t.Errorf("the SDK returns events with the reasons %v, want Started", got.Events)
			}
			got.Events = nil
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("the SDK's results: -want +got:\n%s", diff)
			}
		})
	}
}

// TestSDKFailsWithoutOwnMpirun checks that Hydra cannot read the hostfile that the SDK names, if PATH does not start with the
// folder of trainyard's mpirun. The rule unreadable-hostfile of `trainyard vet job` and docs/python.md state this.
func TestSDKFailsWithoutOwnMpirun(t *testing.T) {
	s := useSDK(t)
	for _, runtime := range []string{"mpich", "intel"} {
		if got := s.trainWithSDK(t, runtime, ""); got.Status != "Failed" {
			t.Errorf("%s: the job has the status %s, want Failed", runtime, got.Status)
		}
	}
}

// TestSDKRunsTheDocumentedProgram runs the program of docs/python.md.
func TestSDKRunsTheDocumentedProgram(t *testing.T) {
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

// useSDK returns the cluster, and skips the test if the SDK is not installed.
func useSDK(t *testing.T) *sandbox {
	t.Helper()
	if sdkPython == "" {
		t.Skip("needs the Kubeflow SDK: run `make sdk`")
	}
	return useCluster(t)
}

// sdkPython is the path of a Python interpreter that can import the SDK.
var sdkPython = os.Getenv("TRAINYARD_SDK")

// trainWithSDK trains with the SDK, and returns the results. The log contains only the lines of ranks.
func (s *sandbox) trainWithSDK(t *testing.T, runtime, index string) sdkResult {
	t.Helper()
	namespace := s.makeNamespace(t)
	t.Cleanup(func() {
		if t.Failed() {
			t.Log(s.describeNamespace(namespace))
		}
	})
	var stderr bytes.Buffer
	cmd := exec.CommandContext(t.Context(), sdkPython, "testdata/sdk.py", s.kubeconfig, namespace, runtime, index)
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	var result sdkResult
	if err == nil {
		err = json.Unmarshal(out, &result)
	}
	if err != nil {
		t.Fatalf("%v: %s\n%s", err, out, &stderr)
	}
	t.Logf("%+v", result)
	result.Log = slices.DeleteFunc(result.Log, func(line string) bool { return !strings.HasPrefix(line, "rank ") })
	slices.Sort(result.Log)
	return result
}

// packageIndex serves a package of the Python Package Index to pods, and returns the address of the index.
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
	// For a folder, the server returns links to all files. pip reads such links.
	server := httptest.NewUnstartedServer(http.FileServer(http.Dir(dir)))
	server.Listener = listener
	server.Start()
	t.Cleanup(server.Close)
	return server.URL + "/"
}
