package controlplane_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trainyard/trainyard/test/build"
	"github.com/trainyard/trainyard/test/controlplane"
)

const jobsAccount = "system:serviceaccount:team-vision:trainyard-jobs"

// TestTheControllerActsAsTheJobsAccountsOfTenants, and as nobody else: with a token of its own,
// which the API server issues, it asks the API server who it is.
func TestTheControllerActsAsTheJobsAccountsOfTenants(t *testing.T) {
	cp := controlplane.Start(t)
	applyAcme(t, cp)
	stranger := cp.Namespace(t) // one that is no tenant's, with an account of that name
	for _, account := range []client.ObjectKey{
		{Namespace: stranger, Name: "trainyard-jobs"}, {Namespace: "team-vision", Name: "pipeline"}, {Namespace: stranger, Name: "trainyard-controller"},
	} {
		makeAccount(t, cp, account)
	}
	controller := tokenOf(t, cp, client.ObjectKey{Namespace: "trainyard-system", Name: "trainyard-controller"})
	namesake := tokenOf(t, cp, client.ObjectKey{Namespace: stranger, Name: "trainyard-controller"})
	jobs := tokenOf(t, cp, client.ObjectKey{Namespace: "team-vision", Name: "trainyard-jobs"})
	for name, tc := range map[string]struct {
		token string
		as    rest.ImpersonationConfig
		may   bool
	}{
		"the account of a tenant":                  {controller, rest.ImpersonationConfig{UserName: jobsAccount}, true},
		"that of another tenant":                   {controller, as("system:serviceaccount:team-speech:trainyard-jobs"), true},
		"one of that name where no tenant is":      {controller, as("system:serviceaccount:" + stranger + ":trainyard-jobs"), false},
		"another account of a tenant":              {controller, as("system:serviceaccount:team-vision:pipeline"), false},
		"the account of a tenant's pods":           {controller, as("system:serviceaccount:team-vision:default"), false},
		"an editor":                                {controller, as("eve"), false},
		"an administrator":                         {controller, as("kubernetes-admin"), false},
		"nobody in particular, of a group":         {controller, rest.ImpersonationConfig{UserName: jobsAccount, Groups: []string{"vision"}}, false},
		"the account of a tenant, as an admin":     {controller, rest.ImpersonationConfig{UserName: jobsAccount, Groups: []string{"system:masters"}}, false},
		"the account of a tenant, with a claim":    {controller, rest.ImpersonationConfig{UserName: jobsAccount, Extra: map[string][]string{"scopes": {"all"}}}, false},
		"the account of a tenant, by another id":   {controller, rest.ImpersonationConfig{UserName: jobsAccount, UID: "0"}, false},
		"the account, by the controller's double":  {namesake, as(jobsAccount), false},
		"another tenant's account, by the first's": {jobs, as("system:serviceaccount:team-speech:trainyard-jobs"), false},
		"itself, by the account":                   {jobs, as(jobsAccount), false},
	} {
		t.Run(name, func(t *testing.T) {
			review := &authenticationv1.SelfSubjectReview{}
			err := clientOf(t, cp, tc.token, tc.as).Create(t.Context(), review)
			switch {
			case tc.may && err != nil:
				t.Errorf("refused: %v", err)
			case tc.may && review.Status.UserInfo.Username != tc.as.UserName:
				t.Errorf("became %s, want %s", review.Status.UserInfo.Username, tc.as.UserName)
			case !tc.may && (!apierrors.IsForbidden(err) || !strings.Contains(err.Error(), "impersonate")):
				t.Errorf("became %v (%v), want a refusal", review.Status.UserInfo, err)
			}
		})
	}
}

func as(user string) rest.ImpersonationConfig { return rest.ImpersonationConfig{UserName: user} }

// TestTheJobsAccountSubmitsTrainJobs and can do nothing else, at home and elsewhere.
func TestTheJobsAccountSubmitsTrainJobs(t *testing.T) {
	cp := controlplane.Start(t)
	applyAcme(t, cp)
	submits := []string{
		"create trainjobs.trainer.kubeflow.org", "delete trainjobs.trainer.kubeflow.org",
		"list trainjobs.trainer.kubeflow.org", "patch trainjobs.trainer.kubeflow.org",
	}
	for namespace, want := range map[string][]string{"team-vision": submits, "team-speech": nil, "trainyard-system": nil} {
		var got []string
		for _, wish := range everything {
			if allowed(t, cp, jobsAccount, "", namespace, wish) {
				got = append(got, wish)
			}
		}
		slices.Sort(got)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("in %s: -want +got:\n%s", namespace, diff)
		}
	}
	controller := "system:serviceaccount:trainyard-system:trainyard-controller"
	for _, wish := range everything {
		if allowed(t, cp, controller, "", "team-vision", wish) {
			t.Errorf("the controller itself may %s", wish)
		}
	}

	token := tokenOf(t, cp, client.ObjectKey{Namespace: "trainyard-system", Name: "trainyard-controller"})
	acting := clientOf(t, cp, token, as(jobsAccount))
	job := func(namespace string) client.Object {
		return build.MakeTrainJob("from-git", namespace).Runtime("mpi-openmpi-cpu").Obj()
	}
	if err := acting.Create(t.Context(), job("team-vision"), client.DryRunAll); err != nil {
		t.Errorf("submitting as the tenant's account: %v", err)
	}
	for name, obj := range map[string]client.Object{
		"a TrainJob at another team's": job("team-speech"),
		"a pod":                        &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "a", Namespace: "team-vision"}},
		"a Secret":                     &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "a", Namespace: "team-vision"}},
	} {
		if err := acting.Create(t.Context(), obj, client.DryRunAll); !apierrors.IsForbidden(err) {
			t.Errorf("making %s as the tenant's account: %v, want a refusal", name, err)
		}
	}
}

// applyAcme applies the example with several teams.
func applyAcme(t *testing.T, cp *controlplane.ControlPlane) {
	t.Helper()
	objs := readObjects(t, "../../bundles/rendered/acme/plain/prod/manifests.yaml")
	makeNamespaces(t, cp, objs)
	apply(t, cp, objs...)
}

// makeAccount makes a ServiceAccount and its namespace, where they are missing.
func makeAccount(t *testing.T, cp *controlplane.ControlPlane, key client.ObjectKey) *corev1.ServiceAccount {
	t.Helper()
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: key.Namespace, Name: key.Name}}
	makeNamespaces(t, cp, []client.Object{account})
	if err := cp.Client().Create(t.Context(), account); err != nil && !apierrors.IsAlreadyExists(err) {
		t.Fatal(err)
	}
	return account
}

// tokenOf has the API server issue a token of a ServiceAccount.
func tokenOf(t *testing.T, cp *controlplane.ControlPlane, key client.ObjectKey) string {
	t.Helper()
	request := &authenticationv1.TokenRequest{}
	if err := cp.Client().SubResource("token").Create(t.Context(), makeAccount(t, cp, key), request); err != nil {
		t.Fatal(err)
	}
	return request.Status.Token
}

// clientOf is a client of whoever has a token, who acts as somebody else.
func clientOf(t *testing.T, cp *controlplane.ControlPlane, token string, as rest.ImpersonationConfig) client.Client {
	t.Helper()
	config := rest.AnonymousClientConfig(cp.Config())
	config.BearerToken, config.Impersonate = token, as
	c, err := client.New(config, client.Options{Scheme: cp.Client().Scheme(), Mapper: cp.Client().RESTMapper()})
	if err != nil {
		t.Fatal(err)
	}
	return c
}
