package controlplane_test

import (
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	jobset "sigs.k8s.io/jobset/api/jobset/v1alpha2"

	"github.com/trainyard/trainyard"
	"github.com/trainyard/trainyard/generator"
	"github.com/trainyard/trainyard/test/controlplane"
	"github.com/trainyard/trainyard/test/matrix"
)

// extraTeams is a layer that the test merges into the document examples/vanilla/platform.yaml. The document in
// examples/vanilla contains every shipped runtime. extraTeams adds a team with the strictest Pod Security level, and a
// team with a runtime that needs a less strict level.
const extraTeams = `
spec:
  runtimes:
    mpi-nfs:
      from: openmpi-cpu
      image: quay.io/acme/openmpi:4.1.6
      user: 4711
      storage: {home: {nfs: {server: nfs.acme.example, path: /home}}}
  tenants:
    team-strict: {namespace: {create: true}, runtimes: [mpi-openmpi-cpu], queues: {default: research}}
    team-nfs: {namespace: {create: true}, runtimes: [mpi-openmpi-cpu, mpi-nfs], queues: {default: research}}
`

func TestPodSecurityAdmitsShippedRuntimesOnly(t *testing.T) {
	cp := controlplane.Start(t)
	objs := generateObjects(t, layer(t, "vanilla/platform.yaml"), generator.Input{Name: "teams.yaml", Text: []byte(extraTeams)},
		generator.Input{Name: "no-dashboards.yaml", Text: []byte("spec: {grafana: null}")})
	apply(t, cp, objs...)
	pods := podTemplates(t, objs)
	if len(pods) < 2*8 {
		t.Fatalf("found %d pod templates, want a launcher and a node of each runtime", len(pods))
	}
	for name, pod := range pods {
		nfs := strings.HasPrefix(name, "mpi-nfs ")
		t.Run(name, func(t *testing.T) {
			expectAdmitted(t, cp, "team-strict", pod, !nfs)
			expectAdmitted(t, cp, "team-nfs", pod, true)
			root := changedPod(pod, func(spec *corev1.PodSpec) {
				spec.SecurityContext.RunAsNonRoot, spec.SecurityContext.RunAsUser = nil, ptr.To[int64](0)
			})
			expectAdmitted(t, cp, "team-strict", root, false)
			expectAdmitted(t, cp, "team-nfs", changedPod(pod, func(spec *corev1.PodSpec) {
				spec.Volumes = append(spec.Volumes, corev1.Volume{Name: "host", VolumeSource: corev1.VolumeSource{
					HostPath: &corev1.HostPathVolumeSource{Path: "/"},
				}})
			}), false)
			expectAdmitted(t, cp, "team-nfs", changedPod(pod, func(spec *corev1.PodSpec) {
				spec.Containers[0].SecurityContext.Privileged = ptr.To(true)
				spec.Containers[0].SecurityContext.AllowPrivilegeEscalation = nil
			}), false)
		})
	}
}

func generateObjects(t *testing.T, layers ...generator.Input) []client.Object {
	t.Helper()
	platforms, err := generator.New(trainyard.CUE).Generate(t.Context(), generator.Request{Layers: layers})
	if err != nil {
		t.Fatal(err)
	}
	var objs []client.Object
	for o := range platforms[0].Objects.All() {
		objs = append(objs, &unstructured.Unstructured{Object: o.Fields()})
	}
	return objs
}

// podTemplates returns the pod templates of runtimes, with the volumes that Trainer adds. The keys have the form
// RUNTIME ROLE.
func podTemplates(t *testing.T, objs []client.Object) map[string]corev1.PodTemplateSpec {
	t.Helper()
	pods := map[string]corev1.PodTemplateSpec{}
	for _, obj := range matrix.Runtimes(objs) {
		template, _, _ := unstructured.NestedMap(obj.(*unstructured.Unstructured).Object, "spec", "template", "spec")
		var set jobset.JobSetSpec
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(template, &set); err != nil {
			t.Fatal(err)
		}
		for _, job := range set.ReplicatedJobs {
			pods[fmt.Sprintf("%s %s", obj.GetName(), job.Name)] = changedPod(job.Template.Spec.Template, addTrainersVolumes)
		}
	}
	return pods
}

// addTrainersVolumes adds the volumes for SSH keys and the hostfile, as Trainer does.
func addTrainersVolumes(spec *corev1.PodSpec) {
	hostfile := &corev1.ConfigMapVolumeSource{LocalObjectReference: corev1.LocalObjectReference{Name: "hostfile"}}
	spec.Volumes = append(spec.Volumes,
		corev1.Volume{Name: "mpi-ssh-auth", VolumeSource: corev1.VolumeSource{Secret: &corev1.SecretVolumeSource{SecretName: "keys"}}},
		corev1.Volume{Name: "mpi-hostfile", VolumeSource: corev1.VolumeSource{ConfigMap: hostfile}})
}

func changedPod(pod corev1.PodTemplateSpec, change func(*corev1.PodSpec)) corev1.PodTemplateSpec {
	changed := *pod.DeepCopy()
	change(&changed.Spec)
	return changed
}

func expectAdmitted(t *testing.T, cp *controlplane.ControlPlane, namespace string, template corev1.PodTemplateSpec, want bool) {
	t.Helper()
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, GenerateName: "pod-"}, Spec: template.Spec}
	err := cp.Client().Create(t.Context(), pod, client.DryRunAll)
	switch {
	case err == nil && !want:
		t.Errorf("%s admits the pod, want it refused", namespace)
	case err != nil && want:
		t.Errorf("%s refuses the pod, want it admitted: %v", namespace, err)
	case err != nil && !strings.Contains(err.Error(), `violates PodSecurity "`):
		t.Errorf("%s refuses the pod for another reason: %v", namespace, err)
	}
}
