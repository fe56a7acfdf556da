//go:build linux

package preflight

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/trainyard/trainyard/test/podrunner"
)

const rankScript = `exec 2> /dev/null; mpirun sh -c 'echo "$OMPI_COMM_WORLD_RANK/$OMPI_COMM_WORLD_SIZE $HOSTNAME $ON_NODE $ON_LAUNCHER $BOTH"'`

func TestRanksStartOnEveryHostWithTheirEnvironment(t *testing.T) {
	t.Parallel()
	requireProgram(t, "mpirun")
	for name, on := range platforms {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			j := newJob(t, 2, on)
			j.slots = 2
			node := &j.pods["node"].Containers[0]
			setEnv(node, "ON_NODE", "node")
			setEnv(node, "BOTH", "node")
			j.startNodes(j.nodes...)
			read(t, j.runPreflight(map[string]string{"PREFLIGHT_OVERSUBSCRIBE": "true"}).Wait())
			main := j.mainContainer("launcher")
			setEnv(&main, "ON_LAUNCHER", "launcher")
			setEnv(&main, "BOTH", "launcher")
			for _, variable := range podrunner.OpenMPIEnv(2) {
				setEnv(&main, variable.Name, variable.Value)
			}
			main.Command = []string{"sh", "-c", rankScript}
			result := j.launcher.pod.Run(main)
			got := strings.Split(strings.TrimSpace(result.Log), "\n")
			slices.Sort(got)
			want := []string{
				"0/6 sum-launcher-0-0  launcher launcher", "1/6 sum-launcher-0-0  launcher launcher",
				"2/6 sum-node-0-0 node launcher node", "3/6 sum-node-0-0 node launcher node",
				"4/6 sum-node-0-1 node launcher node", "5/6 sum-node-0-1 node launcher node",
			}
			if diff := cmp.Diff(want, got); diff != "" || result.Code != 0 {
				t.Errorf("mpirun ended with %d after %s, -want +got:\n%s", result.Code, result.Took, diff)
			}
		})
	}
}
