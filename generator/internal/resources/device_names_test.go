package resources

import (
	"strings"
	"testing"
)

func TestMisspelledDevicesAreNamed(t *testing.T) {
	cases := map[string]struct{ names, meant string }{
		"an additional letter":                  {"nvidia.com/gpux nvidia.com/gpus nvidia.com/gpuu", "nvidia.com/gpu"},
		"a missing letter":                      {"nvidia.com/gp nvidia.com/gu", "nvidia.com/gpu"},
		"a changed letter":                      {"nvidia.com/gpi nvidia.com/gbu", "nvidia.com/gpu"},
		"another case or order":                 {"nvidia.com/GPU nvidia.com/gup nvidia.com/pgu", "nvidia.com/gpu"},
		"a misspelled domain":                   {"nvdia.com/gpu nvidai.com/gpu nvidia/gpu", "nvidia.com/gpu"},
		"another vendor":                        {"amd.com/gpux amd.com/gup", "amd.com/gpu"},
		"shared GPUs":                           {"nvidia.com/gpu.Shared nvidia.com/gpu.shraed", "nvidia.com/gpu.shared"},
		"separators of a slice":                 {"nvidia.com/mig-1g5gb nvidia.com/mig1g.5gb nvidia.com/mig_1g_5gb nvidia.com/mig.1g-5gb", "nvidia.com/mig-1g.5gb"},
		"the unit of a slice":                   {"nvidia.com/mig-1g.10bg nvidia.com/mig-1g.10g nvidia.com/mig-1g.10 nvidia.com/mig-1g.10gib", "nvidia.com/mig-1g.10gb"},
		"the case of a slice":                   {"nvidia.com/MIG-2G.20GB", "nvidia.com/mig-2g.20gb"},
		"the first word of a slice":             {"nvidia.com/mgi-1g.5gb nvidia.com/migg-1g.5gb", "nvidia.com/mig-1g.5gb"},
		"the domain of a slice":                 {"nvdia.com/mig-1g.5gb", "nvidia.com/mig-1g.5gb"},
		"a slice with attributes":               {"nvidia.com/mig-1g5gb.me.shared", "nvidia.com/mig-1g.5gb.me.shared"},
		"a slice whose profile cannot be right": {"nvidia.com/mig-8g.80gb nvidia.com/mig-0g.5gb nvidia.com/mig-1g.5gb.mee nvidia.com/mig-small", "a MIG slice such as nvidia.com/mig-1g.5gb"},
		"the prefix of RDMA devices":            {"rmda/hca rdam/hca rdm/hca rdmaa/hca", "rdma/hca"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			for _, device := range strings.Fields(tc.names) {
				got := DescribeMisspelling(device)
				if !strings.Contains(got, `mean "`+tc.meant+`"?`) && !strings.Contains(got, "want "+tc.meant) {
					t.Errorf("DescribeMisspelling(%q) = %q, want a message about %s", device, got, tc.meant)
				}
			}
		})
	}
}

func TestOtherDevicesAreAccepted(t *testing.T) {
	cases := map[string]string{
		"common names":                       strings.Join(commonDevices, " "),
		"MIG slices":                         "nvidia.com/mig-1g.5gb nvidia.com/mig-7g.80gb nvidia.com/mig-1g.10gb.me nvidia.com/mig-1g.5gb-me nvidia.com/mig-1g.24gb.me.all nvidia.com/mig-1g.24gb.gfx nvidia.com/mig-1c.2g.10gb nvidia.com/mig-1g.5gb.shared",
		"GPUs of virtual machines":           "nvidia.com/GA102GL_A10 nvidia.com/vgpu nvidia.com/pgpu nvidia.com/GRID_T4-1Q",
		"other names of NVIDIA":              "nvidia.com/npu nvidia.com/cpu nvidia.com/gpu-h100 nvidia.com/gpumem nvidia.com/gpucores nvidia.com/hostdev nvidia.com/rdma_shared nvidia.com/migrated_nics",
		"other vendors":                      "acme.com/gpu amd.com/npu arm.com/gpu habana.ai/gaudi2 aws.amazon.com/neuroncore acme.com/mig-8g.80gb google.com/tpu",
		"RDMA devices":                       "rdma/hca rdma/ib0 openshift.io/mellanoxnics rdma.acme.com/hca vpc.amazonaws.com/efa",
		"names that Kubernetes would refuse": "nvidia.com/ /gpu gpu nvidia.com/" + strings.Repeat("g", 400),
	}
	for name, devices := range cases {
		t.Run(name, func(t *testing.T) {
			for _, device := range strings.Fields(devices) {
				if got := DescribeMisspelling(device); got != "" {
					t.Errorf("DescribeMisspelling(%q) = %q, want nothing", device, got)
				}
			}
		})
	}
}
