//go:build linux

package preflight

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/trainyard/trainyard/test/podrunner"
)

// specialValue is a value with characters that shells interpret.
const specialValue = "two  spaces 'single' \"double\" `back` $HOME $(id) \\n\na line\ttab ünïcode 🚂 !*?[a]#;&|<> "

func TestRemoteCommandsHaveTheNodesEnvironment(t *testing.T) {
	t.Parallel()
	for name, on := range platforms {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			j := newJob(t, 1, on)
			onNode := map[string]string{
				"SPECIAL": specialValue, "BOTH": "node", "EMPTY": "", "PATH": "/opt/mpi/bin:/usr/bin:/bin",
				"LC_ALL": "xx_XX.UTF-8", "UID": "7", "EUID": "7", "PPID": "7", "SHELLOPTS": "braceexpand",
				"BASHOPTS": "cmdhist", "OPTIND": "3", "IFS": ":", "SHLVL": "9", "_": "x",
			}
			main := podrunner.Container(t, j.pods["node"].Containers, "node")
			for name, value := range onNode {
				setEnv(&main, name, value)
			}
			j.pods["node"].Containers[0] = main
			j.startNodes(j.nodes...)
			if v := read(t, j.runPreflight(nil).Wait()); v.Reached != 2 {
				t.Errorf("preflight: got %+v, want 2 hosts reached", v)
			}
			got := commandEnvironment(t, j, map[string]string{
				"SPECIAL_LAUNCHER": specialValue, "BOTH": "launcher", "EMPTY_LAUNCHER": "", "PATH": "/launcher:/usr/bin",
			})
			want := map[string]string{
				"SPECIAL": specialValue, "BOTH": "node", "EMPTY": "", "PATH": "/opt/mpi/bin:/usr/bin:/bin",
				"SPECIAL_LAUNCHER": specialValue, "EMPTY_LAUNCHER": "",
				"HOSTNAME": "sum-node-0-0", "HOME": "/home/mpiuser", "USER": "mpi",
			}
			for name := range want {
				if diff := cmp.Diff(want[name], got[name]); diff != "" {
					t.Errorf("variable %s: -want +got:\n%s", name, diff)
				}
			}
		})
	}
}

// commandEnvironment returns the environment of a command that the launcher starts on the first node.
func commandEnvironment(t *testing.T, j *job, launcherEnv map[string]string) map[string]string {
	t.Helper()
	main := j.mainContainer("launcher")
	main.Command = []string{"sh", "-c", `exec ssh "$0" env -0 2> /dev/null`, j.nodes[0].name}
	for name, value := range launcherEnv {
		setEnv(&main, name, value)
	}
	result := j.launcher.pod.Run(main)
	if result.Code != 0 {
		t.Fatalf("ssh ended with %d:\n%s\n%s", result.Code, result.Log, j.nodes[0].sshd.Log())
	}
	return parseEnvironment(result)
}

// parseEnvironment parses the output of the command "env -0".
func parseEnvironment(result podrunner.Result) map[string]string {
	environment := map[string]string{}
	for assignment := range strings.SplitSeq(strings.TrimSuffix(result.Log, "\x00"), "\x00") {
		name, value, _ := strings.Cut(assignment, "=")
		environment[name] = value
	}
	return environment
}
