package resources

import (
	"strings"
	"testing"
)

func TestInvalidNames(t *testing.T) {
	cases := map[string]struct{ names, want string }{
		"CPU in another spelling":     {"CPU Cpu cpus", `did you mean "cpu"?`},
		"memory in another spelling":  {"memorry Memory", `did you mean "memory"?`},
		"disks in another spelling":   {"ephemeral-storrage", `did you mean "ephemeral-storage"?`},
		"huge pages":                  {"hugepage-2Mi", `did you mean "hugepages-2Mi"?`},
		"GPUs without a domain":       {"gpu GPU gpus", `did you mean "nvidia.com/gpu"?`},
		"another name":                {"fpga storage pods", "a domain"},
		"a name that is malformed":    {"nvidia.com/ /gpu nvidia.com/gpu/x nvidia_com/gpu nvidia.com/gpu! hugepages-!", "a domain"},
		"a domain that is too long":   {strings.Repeat("a", 250) + "/gpu", "a domain"},
		"the prefix of a quota":       {"requests.nvidia.com/gpu limits.nvidia.com/gpu", `did you mean "nvidia.com/gpu"?`},
		"the prefix of a CPU quota":   {"limits.cpu requests.cpu", `did you mean "cpu"?`},
		"a prefix and an unknown CPU": {"requests.cpux", "a domain"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			for _, resource := range strings.Fields(tc.names) {
				if got := DescribeInvalid(resource); !strings.Contains(got, tc.want) {
					t.Errorf("DescribeInvalid(%q) = %q, want a message with %q", resource, got, tc.want)
				}
			}
		})
	}
	if got := DescribeInvalid(""); got == "" {
		t.Error("DescribeInvalid() accepts an empty name")
	}
}

func TestValidNames(t *testing.T) {
	for _, name := range strings.Fields("cpu memory ephemeral-storage hugepages-2Mi hugepages-32Mi nvidia.com/gpu nvidia.com/GA102GL_A10 rdma/hca example.kubernetes.io/x") {
		if got := DescribeInvalid(name); got != "" {
			t.Errorf("DescribeInvalid(%q) = %q, want nothing", name, got)
		}
	}
}

func TestDevices(t *testing.T) {
	for name, want := range map[string][2]bool{
		"cpu": {false, true}, "nvidia.com/gpu": {true, false}, "hugepages-2Mi": {false, false}, "x.kubernetes.io/disk": {false, true},
	} {
		if got := [2]bool{IsDevice(name), CanOvercommit(name)}; got != want {
			t.Errorf("IsDevice, CanOvercommit of %s = %v, want %v", name, got, want)
		}
	}
}
