package trainjob

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/trainyard/trainyard/policies/guard"
)

func TestRefusedAmountsAreReported(t *testing.T) {
	runtime := guard.Runtime{Resources: map[string]string{"cpu": "4", "memory": "8Gi"}, GPUs: map[string]int64{"nvidia.com/gpu": 2}}
	type amounts = map[string]resource.Quantity
	cpu := func(text string) amounts { return amounts{"cpu": resource.MustParse(text)} }
	const resources = "spec.trainer.resourcesPerNode."
	cases := map[string]struct {
		limits, requests amounts
		replaces         string
		pods             []amounts
		path             string
	}{
		"no amounts":     {},
		"a higher limit": {limits: cpu("8")},
		"a limit below the request of the runtime":      {limits: cpu("2"), path: resources + "limits[cpu]"},
		"a lower request":                               {requests: cpu("500m")},
		"a request above the limit of the runtime":      {requests: cpu("4100m"), path: resources + "requests[cpu]"},
		"equal amounts":                                 {limits: cpu("8"), requests: cpu("8000m")},
		"a request above the own limit":                 {limits: cpu("8"), requests: cpu("9"), path: resources + "requests[cpu]"},
		"fewer GPUs as a limit only":                    {limits: amounts{"nvidia.com/gpu": resource.MustParse("1")}, path: resources + "limits[nvidia.com/gpu]"},
		"more GPUs as a limit only":                     {limits: amounts{"nvidia.com/gpu": resource.MustParse("4")}, path: resources + "limits[nvidia.com/gpu]"},
		"equal GPUs as a limit only":                    {limits: amounts{"nvidia.com/gpu": resource.MustParse("2")}},
		"fewer GPUs as a request only":                  {requests: amounts{"nvidia.com/gpu": resource.MustParse("1")}, path: resources + "requests[nvidia.com/gpu]"},
		"a device that the runtime does not have":       {limits: amounts{"acme.example/fpga": resource.MustParse("1")}},
		"a request of a device with an unknown limit":   {requests: amounts{"acme.example/fpga": resource.MustParse("1")}},
		"fewer huge pages than their limit":             {limits: amounts{"hugepages-2Mi": resource.MustParse("4Mi")}, requests: amounts{"hugepages-2Mi": resource.MustParse("2Mi")}, path: resources + "requests[hugepages-2Mi]"},
		"a low limit, with resources that are replaced": {limits: cpu("2"), replaces: "2.2"},
		"a device that one pod lacks":                   {requests: amountsOf("acme.example/fpga", "1"), pods: []amounts{amountsOf("acme.example/fpga", "1"), {}}, path: resources + "requests[acme.example/fpga]"},
		"a device that all pods have":                   {requests: amountsOf("acme.example/fpga", "1"), pods: []amounts{amountsOf("acme.example/fpga", "1")}},
		"a device whose limit is dropped":               {requests: amountsOf("nvidia.com/gpu", "2"), replaces: "2.2", path: resources + "requests[nvidia.com/gpu]"},
		"huge pages without a limit":                    {requests: amountsOf("hugepages-2Mi", "2Mi"), replaces: "2.2", path: resources + "requests[hugepages-2Mi]"},
		"a CPU without a limit":                         {requests: cpu("2"), replaces: "2.2"},
		"several requests above limits":                 {requests: amountsOf("cpu", "9", "memory", "99Gi"), path: resources + "requests[cpu], " + resources + "requests[memory]"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			job := guard.Job{Limits: tc.limits, Requests: tc.requests, Replaces: tc.replaces}
			var paths []string
			for _, v := range findRefusedAmounts(job, runtime, tc.pods) {
				paths = append(paths, v.path)
			}
			if got := strings.Join(paths, ", "); got != tc.path {
				t.Errorf("findRefusedAmounts() has the paths %q, want %q", got, tc.path)
			}
		})
	}
}

func TestMissingUnitsAreReported(t *testing.T) {
	for text, want := range map[string]bool{"64": true, "64m": true, "512Ki": true, "1Mi": false, "16Gi": false, "0": false} {
		for _, job := range []guard.Job{{Limits: amountsOf("memory", text)}, {Requests: amountsOf("ephemeral-storage", text)}} {
			if got := findMissingUnits(job); (len(got) == 1) != want {
				t.Errorf("findMissingUnits() of %s = %v, want a violation: %v", text, got, want)
			}
		}
	}
}
