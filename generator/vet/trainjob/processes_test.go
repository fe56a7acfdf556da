package trainjob

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/trainyard/trainyard/policies/guard"
)

func amountsOf(pairs ...string) map[string]resource.Quantity {
	amounts := map[string]resource.Quantity{}
	for i := 0; i < len(pairs); i += 2 {
		amounts[pairs[i]] = resource.MustParse(pairs[i+1])
	}
	return amounts
}

// platformWith returns a platform with one runtime. The second result is the entry for this runtime in the
// parameters of a tenant.
func platformWith(r runtimeObject, processes int64) (Platform, guard.Runtime) {
	r.kind = "ClusterTrainingRuntime"
	return Platform{runtimes: map[string]runtimeObject{"mpi": r}}, guard.Runtime{Kind: r.kind, NumProcPerNode: processes, MaxProcPerNode: 8}
}

func TestResourceProblems(t *testing.T) {
	cpus := runtimeObject{launcherIsNode: true, countsCPUs: true, launcher: amountsOf("cpu", "4"), node: amountsOf("cpu", "4")}
	gpus := runtimeObject{launcherIsNode: true, launcher: amountsOf("cpu", "1", "nvidia.com/gpu", "2"), node: amountsOf("cpu", "1", "nvidia.com/gpu", "2")}
	slices := runtimeObject{launcherIsNode: true, launcher: amountsOf("nvidia.com/mig-1g.5gb", "3"), node: amountsOf("nvidia.com/mig-1g.5gb", "3")}
	small := runtimeObject{launcherIsNode: true, countsCPUs: true, launcher: amountsOf("cpu", "1500m"), node: amountsOf("cpu", "4")}
	apart := runtimeObject{countsCPUs: true, launcher: amountsOf("cpu", "500m"), node: amountsOf("cpu", "2")}
	shared := cpus
	shared.oversubscribes = true
	const atCPUs, atGPUs, resources = "more-processes-than-cpus at spec.trainer.", "more-processes-than-gpus at spec.trainer.", "at spec.trainer.resourcesPerNode."
	cases := map[string]struct {
		runtime   runtimeObject
		own       int64 // processes of the runtime
		processes int32 // processes of the TrainJob, or 0
		limits    map[string]resource.Quantity
		replaces  string
		want      string
	}{
		"one process for each CPU":                     {runtime: cpus, own: 1, processes: 4},
		"more processes than CPUs":                     {runtime: cpus, own: 1, processes: 5, want: atCPUs + "numProcPerNode"},
		"enough CPUs in the TrainJob":                  {runtime: cpus, own: 1, processes: 8, limits: amountsOf("cpu", "8")},
		"too few CPUs in the TrainJob":                 {runtime: cpus, own: 4, limits: amountsOf("cpu", "3900m"), want: atCPUs + "resourcesPerNode"},
		"no CPU limit, because resources are replaced": {runtime: cpus, own: 1, processes: 8, limits: amountsOf("memory", "1Gi"), replaces: "2.2"},
		"a runtime that may share CPUs":                {runtime: shared, own: 1, processes: 8},
		"more processes than the runtime allows":       {runtime: cpus, own: 1, processes: 9},
		"a launcher with fewer CPUs":                   {runtime: small, own: 1, processes: 2, want: atCPUs + "numProcPerNode"},
		"one process for each GPU":                     {runtime: gpus, own: 1, processes: 2},
		"more processes than GPUs":                     {runtime: gpus, own: 1, processes: 3, want: atGPUs + "numProcPerNode"},
		"enough GPUs in the TrainJob":                  {runtime: gpus, own: 1, processes: 4, limits: amountsOf("nvidia.com/gpu", "4")},
		"a number of processes that Trainer replaces":  {runtime: gpus, own: 1},
		"fewer slices than processes of the runtime":   {runtime: slices, own: 3, limits: amountsOf("nvidia.com/mig-1g.5gb", "2"), want: atGPUs + "resourcesPerNode"},
		"nodes that keep their CPUs":                   {runtime: apart, own: 2, processes: 4, limits: amountsOf("cpu", "8"), want: atCPUs + "numProcPerNode"},
		"a launcher that runs no ranks":                {runtime: apart, own: 2, limits: amountsOf("cpu", "250m")},
		"a device that only the launcher gets":         {runtime: apart, own: 2, limits: amountsOf("nvidia.com/gpu", "2"), want: "launcher-only-device " + resources + "limits[nvidia.com/gpu]"},
		"a misspelled device":                          {runtime: gpus, own: 1, processes: 8, limits: amountsOf("nvidia.com/gpus", "2"), want: "misspelled-device " + resources + "limits[nvidia.com/gpus]"},
		"a resource with an invalid name":              {runtime: gpus, own: 1, processes: 8, limits: amountsOf("GPU", "2"), want: "invalid-resource-name " + resources + "limits[GPU]"},
		"a fraction of a device":                       {runtime: gpus, own: 1, limits: amountsOf("nvidia.com/gpu", "1500m"), want: "fractional-device " + resources + "limits[nvidia.com/gpu]"},
		"thousandths that are whole devices":           {runtime: gpus, own: 1, limits: amountsOf("nvidia.com/gpu", "2000m")},
		"a device with a line break":                   {runtime: gpus, own: 1, limits: amountsOf("nvidia.com/gp\n", "2"), want: `invalid-resource-name ` + resources + `limits["nvidia.com/gp\n"]`},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			p, runtime := platformWith(tc.runtime, tc.own)
			job := guard.Job{Runtime: guard.RuntimeRef{Kind: runtime.Kind, Name: "mpi"}, Limits: tc.limits, Requests: tc.limits, Replaces: tc.replaces}
			if tc.processes > 0 {
				number := intstr.FromInt32(tc.processes)
				job.Processes = &number
			}
			got := ""
			devices, processes := p.findResourceProblems(job, runtime)
			for _, v := range append(devices, processes...) {
				got += v.rule.Name + " at " + v.path
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

// TestUnknownRuntimesHaveNoResourceProblems uses TrainJobs whose runtimes are not in the platform. For these TrainJobs,
// vet must not compare the number of processes with the number of GPUs. The runtime in the platform is a
// ClusterTrainingRuntime with the name "mpi". One of the TrainJobs refers to a TrainingRuntime that is also named
// "mpi".
func TestUnknownRuntimesHaveNoResourceProblems(t *testing.T) {
	p, runtime := platformWith(runtimeObject{launcherIsNode: true, node: amountsOf("nvidia.com/gpu", "1")}, 1)
	processes := intstr.FromInt32(8)
	for _, ref := range []guard.RuntimeRef{{Kind: "TrainingRuntime", Name: "mpi"}, {Kind: runtime.Kind, Name: "other"}} {
		devices, found := p.findResourceProblems(guard.Job{Runtime: ref, Processes: &processes}, runtime)
		if len(devices)+len(found) > 0 {
			t.Errorf("findResourceProblems() of %v = %v, %v, want nothing", ref, devices, found)
		}
	}
}

func TestDroppedGPUsAreNoted(t *testing.T) {
	runtime := guard.Runtime{GPUs: map[string]int64{"nvidia.com/gpu": 2}}
	cases := map[string]struct {
		job  guard.Job
		want string
	}{
		"no resources":                   {guard.Job{}, ""},
		"other resources":                {guard.Job{Limits: amountsOf("cpu", "2")}, ""},
		"resources without GPUs":         {guard.Job{Limits: amountsOf("cpu", "2"), Replaces: "2.2"}, "spec.trainer.resourcesPerNode"},
		"a limit of 0":                   {guard.Job{Limits: amountsOf("nvidia.com/gpu", "0")}, "spec.trainer.resourcesPerNode.limits[nvidia.com/gpu]"},
		"another GPU":                    {guard.Job{Limits: amountsOf("nvidia.com/gpu", "0", "amd.com/gpu", "1")}, ""},
		"fewer GPUs":                     {guard.Job{Limits: amountsOf("nvidia.com/gpu", "1"), Replaces: "2.2"}, ""},
		"a limit of 0, and unknown ones": {guard.Job{Limits: amountsOf("nvidia.com/gpu", "0"), UnknownAmounts: true}, ""},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got := ""
			for _, v := range findDroppedGPUs(tc.job, runtime) {
				got += v.path
			}
			if got != tc.want {
				t.Errorf("findDroppedGPUs() has the path %q, want %q", got, tc.want)
			}
		})
	}
	if got := findDroppedGPUs(guard.Job{Limits: amountsOf("cpu", "2"), Replaces: "2.2"}, guard.Runtime{}); len(got) > 0 {
		t.Errorf("findDroppedGPUs() of a runtime without GPUs = %v, want nothing", got)
	}
}
