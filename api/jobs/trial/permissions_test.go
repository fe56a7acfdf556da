package trial_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	jobset "sigs.k8s.io/jobset/api/jobset/v1alpha2"

	"github.com/trainyard/trainyard/api/jobs"
	"github.com/trainyard/trainyard/api/jobs/trial"
	"github.com/trainyard/trainyard/test/controlplane"
)

// allow gives permissions to the user who has the same name as the namespace.
func allow(t *testing.T, cp *controlplane.ControlPlane, namespace string, permissions []jobs.Permission) {
	t.Helper()
	meta := metav1.ObjectMeta{Namespace: namespace, Name: "tester"}
	role := &rbacv1.Role{ObjectMeta: meta}
	for _, r := range permissions {
		resource := r.Resource
		if r.Subresource != "" {
			resource += "/" + r.Subresource
		}
		role.Rules = append(role.Rules, rbacv1.PolicyRule{Verbs: []string{r.Verb}, APIGroups: []string{r.Group}, Resources: []string{resource}})
	}
	binding := &rbacv1.RoleBinding{
		ObjectMeta: meta, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: role.Name},
		Subjects: []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: namespace}},
	}
	if err := errors.Join(cp.Client().Create(t.Context(), role), cp.Client().Create(t.Context(), binding)); err != nil {
		t.Fatal(err)
	}
}

func connectAs(t *testing.T, cp *controlplane.ControlPlane, user string) jobs.Jobs {
	t.Helper()
	config := cp.Config()
	config.Impersonate = rest.ImpersonationConfig{UserName: user}
	all, err := jobs.Connect(config)
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func TestFollowPermissionsSuffice(t *testing.T) {
	cp, _, options := start(t)
	allow(t, cp, options.Namespace, jobs.FollowPermissions)
	all := connectAs(t, cp, options.Namespace)
	var result trial.Result
	var err error
	controlplane.Eventually(t, func(context.Context) error { // RBAC caches are updated with a delay
		result, err = run(t.Context(), t, all, options, func(trial.Check) {})
		return err
	})
	if !result.TimedOut || len(jobsIn(t, cp, options.Namespace)) > 0 {
		t.Errorf("result %+v, or a TrainJob is left", result)
	}
}

func TestMissingPermission(t *testing.T) {
	cp, _, options := start(t)
	for i, missing := range jobs.FollowPermissions {
		t.Run(missing.String(), func(t *testing.T) {
			options.Namespace = cp.Namespace(t)
			allow(t, cp, options.Namespace, slices.Delete(slices.Clone(jobs.FollowPermissions), i, i+1))
			all := connectAs(t, cp, options.Namespace)
			controlplane.Eventually(t, func(ctx context.Context) error {
				_, err := trial.Run(ctx, all, options, func(trial.Check) { t.Error("a trial started") })
				if !apierrors.IsForbidden(err) || !strings.Contains(err.Error(), "no permission to "+missing.String()+" in namespace") {
					return fmt.Errorf("want an error about the missing permission to %s, got %w", missing, err)
				}
				return nil
			})
			if left := jobsIn(t, cp, options.Namespace); len(left) > 0 {
				t.Errorf("TrainJobs are left: %v", left)
			}
		})
	}
}

func TestUnsupportedRuntimes(t *testing.T) {
	cp, all, options := start(t)
	without := func(role jobs.Role) func(*jobs.Runtime) {
		return func(r *jobs.Runtime) {
			replicated := &r.Spec.Template.Spec.ReplicatedJobs
			*replicated = slices.DeleteFunc(*replicated, func(j jobset.ReplicatedJob) bool { return jobs.Role(j.Name) == role })
		}
	}
	for name, tc := range map[string]struct {
		change func(*jobs.Runtime)
		want   string
	}{
		"no policy":   {func(r *jobs.Runtime) { r.Spec.MLPolicy = nil }, "no mlPolicy.mpi"},
		"not MPI":     {func(r *jobs.Runtime) { r.Spec.MLPolicy.MPI = nil }, "no mlPolicy.mpi"},
		"no launcher": {without(jobs.Launcher), "no replicatedJob launcher"},
		"no node":     {without(jobs.Node), "no replicatedJob node"},
		"other container": {func(r *jobs.Runtime) {
			r.Spec.Template.Spec.ReplicatedJobs[1].Template.Spec.Template.Spec.Containers[0].Name = "sshd"
		}, "no container node"},
	} {
		t.Run(name, func(t *testing.T) {
			o := options
			o.Runtime.Spec = *options.Runtime.Spec.DeepCopy()
			tc.change(&o.Runtime)
			_, err := trial.Run(t.Context(), all, o, func(trial.Check) { t.Error("a trial started") })
			if unsupported := (*trial.UnsupportedRuntimeError)(nil); !errors.As(err, &unsupported) || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("Run() = %v, want %q", err, tc.want)
			}
			if left := jobsIn(t, cp, o.Namespace); len(left) > 0 {
				t.Errorf("TrainJobs are left: %v", left)
			}
		})
	}
}
