//go:build linux

package e2e

import (
	"fmt"
	"testing"

	trainer "github.com/kubeflow/trainer/v2/pkg/apis/trainer/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

const gpuResource = "nvidia.com/gpu"

var needsGPUs = map[string]bool{"openmpi-gpu": true, "horovod": true, "deepspeed-mpi": true}

// advertiseGPUs makes the cluster nodes advertise GPUs that do not exist. See "Advertise Extended Resources for a Node"
// in the documentation of Kubernetes.
func (s *sandbox) advertiseGPUs(t *testing.T) {
	t.Helper()
	patch := fmt.Sprintf(`{"status": {"capacity": {%[1]q: "16"}, "allocatable": {%[1]q: "16"}}}`, gpuResource)
	for number := range nodeCount {
		node := fmt.Sprintf("node%d", number+1)
		if out, err := s.runKubectl("", "patch", "node", node, "--subresource=status", "--type=merge", "-p", patch); err != nil {
			t.Fatalf("advertising GPUs on %s: %v: %s", node, err, out)
		}
	}
}

// nvidiaSMI is a script that lists two GPUs in the format of `nvidia-smi -L`.
const nvidiaSMI = `#!/bin/sh
echo "GPU 0: Sandbox (UUID: GPU-0)"
echo "GPU 1: Sandbox (UUID: GPU-1)"
`

// addNvidiaSMI copies a runtime, and returns the name of the copy. The containers of the copy contain the
// script nvidiaSMI under the name nvidia-smi, because the preflight check calls nvidia-smi. On machines with
// GPUs, NVIDIA's container toolkit adds nvidia-smi to each container.
func (s *sandbox) addNvidiaSMI(t *testing.T, runtime, namespace string) string {
	t.Helper()
	const name = "nvidia-smi"
	script := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: namespace}, Data: map[string]string{name: nvidiaSMI}}
	if err := s.client.Create(t.Context(), script); err != nil {
		t.Fatalf("creating a ConfigMap: %v", err)
	}
	mode := int32(0o755)
	volume := corev1.Volume{Name: name, VolumeSource: corev1.VolumeSource{ConfigMap: &corev1.ConfigMapVolumeSource{
		LocalObjectReference: corev1.LocalObjectReference{Name: name}, DefaultMode: &mode,
	}}}
	return s.changedRuntime(t, runtime, func(spec *trainer.TrainingRuntimeSpec) {
		for _, pod := range podSpecs(spec) {
			pod.Volumes = append(pod.Volumes, volume)
			for _, c := range listContainers(pod) {
				c.VolumeMounts = append(c.VolumeMounts, corev1.VolumeMount{Name: name, MountPath: "/usr/local/bin/" + name, SubPath: name})
			}
		}
	})
}
