package controlplane_test

import (
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	securityv1 "github.com/openshift/api/security/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"

	"github.com/trainyard/trainyard/generator"
	"github.com/trainyard/trainyard/test/controlplane"
)

// fixedUsers is a platform on OpenShift. Some runtimes of this platform have user ids outside the ranges that OpenShift
// assigns to namespaces.
const fixedUsers = `
apiVersion: trainyard.dev/v1alpha1
kind: Platform
metadata: {name: fixed}
spec:
  target: {openshift: true}
  runtimes:
    scc-usual: {from: openmpi-cpu, image: quay.io/acme/openmpi:4.1}
    scc-old: {from: openmpi-cpu, image: quay.io/acme/openmpi:3.1, user: 4711, storage: {data: {claim: data}}}
    scc-private: {from: mpich, image: quay.io/acme/mpich:4.2, scope: namespace, user: 1000}
  tenants:
    scc-team-a: {runtimes: [scc-usual, scc-old], editors: {groups: [vision]}}
    scc-team-b: {runtimes: [scc-usual, scc-private]}
    scc-team-c: {runtimes: [scc-usual]}
`

func installSCCs(t *testing.T, cp *controlplane.ControlPlane) {
	t.Helper()
	dir, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "github.com/openshift/api").Output()
	if err != nil {
		t.Fatalf("finding the module with OpenShift's CRDs: %v", err)
	}
	crds := filepath.Join(strings.TrimSpace(string(dir)), "security", "v1", "zz_generated.crd-manifests")
	if _, err := envtest.InstallCRDs(cp.Config(), envtest.CRDInstallOptions{Paths: []string{crds}, ErrorIfPathMissing: true}); err != nil {
		t.Fatal(err)
	}
}

func applyFixedUsers(t *testing.T, cp *controlplane.ControlPlane) []client.Object {
	t.Helper()
	installSCCs(t, cp)
	objs := generateObjects(t, generator.Input{Name: "fixed.yaml", Text: []byte(fixedUsers)})
	createNamespaces(t, cp, objs)
	apply(t, cp, objs...)
	return objs
}

func TestSCCsAreAppliedWithoutDrift(t *testing.T) {
	cp := controlplane.Start(t)
	objs := applyFixedUsers(t, cp)
	expectNoDrift(t, cp, objs...)
	for _, obj := range objs {
		if obj.GetObjectKind().GroupVersionKind().Kind != "SecurityContextConstraints" {
			expectNothingAdded(t, cp, obj)
			continue
		}
		// OpenShift 4.20 and later set a default for the field userNamespaceLevel. Bundles do not contain
		// userNamespaceLevel, because earlier versions of OpenShift refuse the field.
		completed := obj.DeepCopyObject().(*unstructured.Unstructured)
		completed.Object["userNamespaceLevel"] = "AllowHostLevel"
		expectNothingAdded(t, cp, completed)
	}
}

// TestOnlyTenantAccountsUseTheSCC asks the API server's authorizer who may use the SCC. Only the ServiceAccount
// trainyard-mpi of a tenant may use it, and only in the tenant's namespace. If the tenant lists no runtime with a fixed
// user id, even this ServiceAccount may not use the SCC.
func TestOnlyTenantAccountsUseTheSCC(t *testing.T) {
	cp := controlplane.Start(t)
	applyFixedUsers(t, cp)
	for name, tc := range map[string]struct {
		user, namespace, scc string
		allowed              bool
	}{
		"a tenant's account":                              {"system:serviceaccount:scc-team-a:trainyard-mpi", "scc-team-a", "trainyard-mpi", true},
		"another tenant's account":                        {"system:serviceaccount:scc-team-b:trainyard-mpi", "scc-team-b", "trainyard-mpi", true},
		"the account, for another SCC":                    {"system:serviceaccount:scc-team-a:trainyard-mpi", "scc-team-a", "privileged", false},
		"the account, in another tenant's namespace":      {"system:serviceaccount:scc-team-a:trainyard-mpi", "scc-team-b", "trainyard-mpi", false},
		"the account, in the whole cluster":               {"system:serviceaccount:scc-team-a:trainyard-mpi", "", "trainyard-mpi", false},
		"an account of that name, without such a runtime": {"system:serviceaccount:scc-team-c:trainyard-mpi", "scc-team-c", "trainyard-mpi", false},
		"the default account of pods":                     {"system:serviceaccount:scc-team-a:default", "scc-team-a", "trainyard-mpi", false},
		"the tenant's jobs account":                       {"system:serviceaccount:scc-team-a:trainyard-jobs", "scc-team-a", "trainyard-mpi", false},
		"an editor":                                       {"eve", "scc-team-a", "trainyard-mpi", false},
	} {
		t.Run(name, func(t *testing.T) {
			review := &authorizationv1.SubjectAccessReview{Spec: authorizationv1.SubjectAccessReviewSpec{
				User: tc.user, Groups: []string{"system:authenticated", "system:serviceaccounts", "vision"},
				ResourceAttributes: &authorizationv1.ResourceAttributes{
					Namespace: tc.namespace, Verb: "use", Group: securityv1.GroupName, Resource: "securitycontextconstraints", Name: tc.scc,
				},
			}}
			if err := cp.Client().Create(t.Context(), review); err != nil {
				t.Fatal(err)
			}
			if review.Status.Allowed != tc.allowed {
				t.Errorf("allowed: %v (%s), want %v", review.Status.Allowed, review.Status.Reason, tc.allowed)
			}
		})
	}
}

// TestPodsMatchTheSCC checks that the SCC allows the pods of runtimes with fixed user ids. In OpenShift, an
// admission plugin checks pods against SCCs. The plugin is not available in the test, so the test compares
// fields of the pods with the SCC. Pods without a user id must not set a ServiceAccount, so that OpenShift uses
// the SCC restricted-v2 for these pods.
func TestPodsMatchTheSCC(t *testing.T) {
	objs := generateObjects(t, generator.Input{Name: "fixed.yaml", Text: []byte(fixedUsers)})
	var scc securityv1.SecurityContextConstraints
	for _, obj := range objs {
		if fields := obj.(*unstructured.Unstructured).Object; fields["kind"] == "SecurityContextConstraints" {
			if err := runtime.DefaultUnstructuredConverter.FromUnstructured(fields, &scc); err != nil {
				t.Fatal(err)
			}
		}
	}
	fixed := 0
	for name, pod := range podTemplates(t, objs) {
		security := pod.Spec.SecurityContext
		if strings.HasPrefix(name, "scc-usual ") {
			if security.RunAsUser != nil || security.FSGroup != nil || pod.Spec.ServiceAccountName != "" {
				t.Errorf("%s sets a user, a group or an account, want none", name)
			}
			continue
		}
		fixed++
		if pod.Spec.ServiceAccountName != scc.Name {
			t.Errorf("%s runs as %q, want %q", name, pod.Spec.ServiceAccountName, scc.Name)
		}
		if *security.RunAsUser < *scc.RunAsUser.UIDRangeMin || *security.RunAsUser > *scc.RunAsUser.UIDRangeMax {
			t.Errorf("%s runs as user %d, which the SCC refuses", name, *security.RunAsUser)
		}
		if !slices.Contains(scc.FSGroup.Ranges, securityv1.IDRange{Min: *security.FSGroup, Max: *security.FSGroup}) {
			t.Errorf("%s has fsGroup %d, which the SCC refuses", name, *security.FSGroup)
		}
		for _, volume := range pod.Spec.Volumes {
			if kind := volumeKind(volume); !slices.Contains(scc.Volumes, kind) {
				t.Errorf("%s mounts a volume of kind %q, which the SCC refuses", name, kind)
			}
		}
	}
	if fixed != 4 {
		t.Errorf("found %d pods with a fixed user, want a launcher and a node of two runtimes", fixed)
	}
}

// volumeKind returns the name that SCCs use for the type of a volume. It returns "another" for a type that no runtime
// uses.
func volumeKind(volume corev1.Volume) securityv1.FSType {
	switch source := volume.VolumeSource; {
	case source.ConfigMap != nil:
		return securityv1.FSTypeConfigMap
	case source.EmptyDir != nil:
		return securityv1.FSTypeEmptyDir
	case source.PersistentVolumeClaim != nil:
		return securityv1.FSTypePersistentVolumeClaim
	case source.Secret != nil:
		return securityv1.FSTypeSecret
	}
	return "another"
}
