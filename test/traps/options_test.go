package traps

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestOptionsBecomeVariables: each MPI implementation has its own variables for network interfaces, for the output of
// ranks and for ranks that share a CPU. If a runtime did not set the variables of its MPI implementation, the
// corresponding fields of the runtime would have no effect.
func TestOptionsBecomeVariables(t *testing.T) {
	cases := map[string]struct {
		settings string
		want     map[string]map[string]string // the variables by base
	}{
		"no options": {"", map[string]map[string]string{
			"openmpi-cpu": {}, "mpich": {"HYDRA_IFACE": "eth0"}, "intel-mpi": {"I_MPI_HYDRA_IFACE": "eth0", "FI_PROVIDER": "tcp"},
		}},
		"one interface": {"interface: net1", map[string]map[string]string{
			"openmpi-cpu": {
				"OMPI_MCA_oob_tcp_if_include": "net1", "PRTE_MCA_prte_if_include": "net1", "OMPI_MCA_btl_tcp_if_include": "net1",
				"NCCL_SOCKET_IFNAME": "=net1", "GLOO_SOCKET_IFNAME": "net1",
			},
			"mpich":     {"HYDRA_IFACE": "net1", "FI_TCP_IFACE": "net1", "UCX_NET_DEVICES": "net1", "NCCL_SOCKET_IFNAME": "=net1", "GLOO_SOCKET_IFNAME": "net1"},
			"intel-mpi": {"I_MPI_HYDRA_IFACE": "net1", "FI_PROVIDER": "tcp", "FI_TCP_IFACE": "net1", "NCCL_SOCKET_IFNAME": "=net1", "GLOO_SOCKET_IFNAME": "net1"},
		}},
		"another interface for data": {"dataInterface: net1", map[string]map[string]string{
			"openmpi-cpu": {"OMPI_MCA_btl_tcp_if_include": "net1", "NCCL_SOCKET_IFNAME": "=net1", "GLOO_SOCKET_IFNAME": "net1"},
			"mpich":       {"HYDRA_IFACE": "eth0", "FI_TCP_IFACE": "net1", "UCX_NET_DEVICES": "net1", "NCCL_SOCKET_IFNAME": "=net1", "GLOO_SOCKET_IFNAME": "net1"},
			"intel-mpi":   {"I_MPI_HYDRA_IFACE": "eth0", "FI_PROVIDER": "tcp", "FI_TCP_IFACE": "net1", "NCCL_SOCKET_IFNAME": "=net1", "GLOO_SOCKET_IFNAME": "net1"},
		}},
		"no RDMA": {"fabric: tcp", map[string]map[string]string{
			"openmpi-cpu": {"OMPI_MCA_pml": "ob1", "OMPI_MCA_btl": "^openib,ofi,uct", "NCCL_IB_DISABLE": "1"},
			"horovod-cpu": {"OMPI_MCA_pml": "ob1", "OMPI_MCA_btl": "^openib,ofi,uct", "NCCL_IB_DISABLE": "1"},
			"mpich":       {"HYDRA_IFACE": "eth0", "FI_PROVIDER": "tcp", "UCX_TLS": "self,sm,tcp", "NCCL_IB_DISABLE": "1"},
			"intel-mpi":   {"I_MPI_HYDRA_IFACE": "eth0", "FI_PROVIDER": "tcp", "NCCL_IB_DISABLE": "1"},
		}},
		"RDMA": {"fabric: rdma, dataInterface: net1, resources: {rdma/hca: 1}", map[string]map[string]string{
			"openmpi-cpu": {"OMPI_MCA_pml": "ucx", "OMPI_MCA_btl_tcp_if_include": "net1", "NCCL_SOCKET_IFNAME": "=net1", "GLOO_SOCKET_IFNAME": "net1"},
			"horovod-cpu": {
				"OMPI_MCA_pml": "ob1", "OMPI_MCA_btl": "^openib,ofi,uct", "OMPI_MCA_btl_tcp_if_include": "net1", "NCCL_SOCKET_IFNAME": "=net1", "GLOO_SOCKET_IFNAME": "net1",
			},
			"mpich": {
				"HYDRA_IFACE": "eth0", "FI_PROVIDER": "verbs;ofi_rxm", "UCX_TLS": "self,sm,rc,ud", "FI_VERBS_IFACE": "net1",
				"NCCL_SOCKET_IFNAME": "=net1", "GLOO_SOCKET_IFNAME": "net1",
			},
			"intel-mpi": {"I_MPI_HYDRA_IFACE": "eth0", "FI_PROVIDER": "verbs", "FI_VERBS_IFACE": "net1", "NCCL_SOCKET_IFNAME": "=net1", "GLOO_SOCKET_IFNAME": "net1"},
		}},
		"tagged output": {"logs: {tagOutput: true}", map[string]map[string]string{
			"openmpi-cpu": {"OMPI_MCA_orte_tag_output": "1", "PRTERUN_OUTPUT": "tag"},
			"mpich":       {"HYDRA_IFACE": "eth0", "HYDRA_CONFIG_FILE": "/mpi-run/hydra.conf"},
		}},
		"ranks that share a CPU": {"numProcPerNode: 2, preflight: {oversubscribe: true}", map[string]map[string]string{
			"openmpi-cpu": {"OMPI_MCA_mpi_yield_when_idle": "1"},
			"mpich":       {"HYDRA_IFACE": "eth0"},
			"intel-mpi":   {"I_MPI_HYDRA_IFACE": "eth0", "FI_PROVIDER": "tcp", "I_MPI_THREAD_YIELD": "2"},
		}},
	}
	optional := map[string]bool{}
	for _, tc := range cases {
		for _, variables := range tc.want {
			for name := range variables {
				optional[name] = true
			}
		}
	}
	for name, tc := range cases {
		for base, want := range tc.want {
			t.Run(name+", "+base, func(t *testing.T) {
				got := map[string]string{}
				for _, v := range main(replicatedJob(t, generateFrom(t, base, "", tc.settings), "launcher")).Env {
					if optional[v.Name] {
						got[v.Name] = v.Value
					}
				}
				if diff := cmp.Diff(want, got); diff != "" {
					t.Errorf("variables: -want +got:\n%s", diff)
				}
			})
		}
	}
}

// TestSharedMemoryFollowsMemory: NCCL and data loaders need much shared memory for training on GPUs, and fail if /dev/shm is
// full. By default, /dev/shm of a runtime with GPUs is therefore as large as the memory of the runtime.
func TestSharedMemoryFollowsMemory(t *testing.T) {
	for settings, want := range map[string]string{
		"resources: {memory: 64Gi}":                                       "512Mi",
		"resources: {memory: 64Gi, nvidia.com/gpu: 2}":                    "64Gi",
		"resources: {memory: 64Gi, nvidia.com/gpu: 2}, sharedMemory: 8Gi": "8Gi",
	} {
		for _, v := range pod(replicatedJob(t, generateRuntime(t, "", settings), "node")).Spec.Volumes {
			if v.Name == "shm" && v.EmptyDir.SizeLimit.String() != want {
				t.Errorf("%s: /dev/shm has %s, want %s", settings, v.EmptyDir.SizeLimit, want)
			}
		}
	}
}
