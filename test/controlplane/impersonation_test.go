package controlplane_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trainyard/trainyard"
	"github.com/trainyard/trainyard/api/v1alpha1"
	"github.com/trainyard/trainyard/generator"
	"github.com/trainyard/trainyard/test/build"
	"github.com/trainyard/trainyard/test/controlplane"
)

const jobsAccount = "system:serviceaccount:team-vision:trainyard-jobs"

// TestControllerImpersonatesOnlyJobsAccounts checks that trainyard's controller can impersonate only the ServiceAccount
// "trainyard-jobs" of each tenant. Other accounts must not be able to impersonate this ServiceAccount. In each case,
// the test authenticates with the token of a ServiceAccount, impersonates a user, and sends a SelfSubjectReview. The
// response names the user whom the API server sees.
func TestControllerImpersonatesOnlyJobsAccounts(t *testing.T) {
	cp := controlplane.Start(t)
	applyAcme(t, cp)
	other := cp.Namespace(t) // a namespace without a tenant, with accounts of the same names
	for _, account := range []client.ObjectKey{
		{Namespace: other, Name: "trainyard-jobs"}, {Namespace: "team-vision", Name: "pipeline"}, {Namespace: other, Name: "trainyard-controller"},
	} {
		createAccount(t, cp, account)
	}
	controller := requestToken(t, cp, client.ObjectKey{Namespace: v1alpha1.SystemNamespace, Name: "trainyard-controller"})
	namesake := requestToken(t, cp, client.ObjectKey{Namespace: other, Name: "trainyard-controller"})
	jobs := requestToken(t, cp, client.ObjectKey{Namespace: "team-vision", Name: "trainyard-jobs"})
	for name, tc := range map[string]struct {
		token   string
		as      rest.ImpersonationConfig
		allowed bool
	}{
		"the jobs account of a tenant":                     {controller, rest.ImpersonationConfig{UserName: jobsAccount}, true},
		"the jobs account of another tenant":               {controller, as("system:serviceaccount:team-speech:trainyard-jobs"), true},
		"an account of that name without a tenant":         {controller, as("system:serviceaccount:" + other + ":trainyard-jobs"), false},
		"another account of a tenant":                      {controller, as("system:serviceaccount:team-vision:pipeline"), false},
		"the account of a tenant's pods":                   {controller, as("system:serviceaccount:team-vision:default"), false},
		"an editor":                                        {controller, as("eve"), false},
		"an administrator":                                 {controller, as("kubernetes-admin"), false},
		"the jobs account, with a group":                   {controller, rest.ImpersonationConfig{UserName: jobsAccount, Groups: []string{"vision"}}, false},
		"the jobs account, with an administrator's group":  {controller, rest.ImpersonationConfig{UserName: jobsAccount, Groups: []string{"system:masters"}}, false},
		"the jobs account, with extra fields":              {controller, rest.ImpersonationConfig{UserName: jobsAccount, Extra: map[string][]string{"scopes": {"all"}}}, false},
		"the jobs account, with another UID":               {controller, rest.ImpersonationConfig{UserName: jobsAccount, UID: "0"}, false},
		"the jobs account, by the controller's namesake":   {namesake, as(jobsAccount), false},
		"another tenant's jobs account, by a jobs account": {jobs, as("system:serviceaccount:team-speech:trainyard-jobs"), false},
		"the jobs account, by itself":                      {jobs, as(jobsAccount), false},
	} {
		t.Run(name, func(t *testing.T) {
			review := &authenticationv1.SelfSubjectReview{}
			err := impersonatingClient(t, cp, tc.token, tc.as).Create(t.Context(), review)
			switch {
			case tc.allowed && err != nil:
				t.Errorf("refused: %v", err)
			case tc.allowed && review.Status.UserInfo.Username != tc.as.UserName:
				t.Errorf("became %s, want %s", review.Status.UserInfo.Username, tc.as.UserName)
			case !tc.allowed && (!apierrors.IsForbidden(err) || !strings.Contains(err.Error(), "impersonate")):
				t.Errorf("became %v (%v), want it forbidden", review.Status.UserInfo, err)
			}
		})
	}
}

func as(user string) rest.ImpersonationConfig { return rest.ImpersonationConfig{UserName: user} }

func TestJobsAccountOnlySubmitsTrainJobs(t *testing.T) {
	cp := controlplane.Start(t)
	applyAcme(t, cp)
	submit := []string{
		"create trainjobs.trainer.kubeflow.org", "delete trainjobs.trainer.kubeflow.org",
		"list trainjobs.trainer.kubeflow.org", "patch trainjobs.trainer.kubeflow.org",
	}
	for namespace, want := range map[string][]string{"team-vision": submit, "team-speech": nil, v1alpha1.SystemNamespace: nil} {
		got := listPermissions(t, cp, jobsAccount, "", namespace)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("permissions in %s: -want +got:\n%s", namespace, diff)
		}
	}

	token := requestToken(t, cp, client.ObjectKey{Namespace: v1alpha1.SystemNamespace, Name: "trainyard-controller"})
	impersonating := impersonatingClient(t, cp, token, as(jobsAccount))
	job := func(namespace string) client.Object {
		return build.MakeTrainJob("from-git", namespace).Runtime("mpi-openmpi-cpu").Obj()
	}
	if err := impersonating.Create(t.Context(), job("team-vision"), client.DryRunAll); err != nil {
		t.Errorf("submitting as the tenant's account: %v", err)
	}
	for name, obj := range map[string]client.Object{
		"a TrainJob in another team's namespace": job("team-speech"),
		"a pod":                                  &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "a", Namespace: "team-vision"}},
		"a Secret":                               &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "a", Namespace: "team-vision"}},
	} {
		if err := impersonating.Create(t.Context(), obj, client.DryRunAll); !apierrors.IsForbidden(err) {
			t.Errorf("creating %s as the tenant's account: %v, want it forbidden", name, err)
		}
	}
}

// applyAcme applies the environment prod of the example acme, which has several teams. applyAcme also enables
// trainyard's controller in the document, so that the objects of the controller are generated.
func applyAcme(t *testing.T, cp *controlplane.ControlPlane) {
	t.Helper()
	platforms, err := generator.New(trainyard.CUE).Generate(t.Context(), generator.Request{Layers: []generator.Input{
		layer(t, "acme/platform.yaml"), {Name: "controller.yaml", Text: []byte("spec: {controller: {enabled: true}}")},
	}})
	if err != nil {
		t.Fatal(err)
	}
	objs := byEnvironment(platforms)["prod"]
	createNamespaces(t, cp, objs)
	apply(t, cp, objs...)
}

func createAccount(t *testing.T, cp *controlplane.ControlPlane, key client.ObjectKey) *corev1.ServiceAccount {
	t.Helper()
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: key.Namespace, Name: key.Name}}
	createNamespaces(t, cp, []client.Object{account})
	if err := cp.Client().Create(t.Context(), account); err != nil && !apierrors.IsAlreadyExists(err) {
		t.Fatal(err)
	}
	return account
}

func requestToken(t *testing.T, cp *controlplane.ControlPlane, key client.ObjectKey) string {
	t.Helper()
	request := &authenticationv1.TokenRequest{}
	if err := cp.Client().SubResource("token").Create(t.Context(), createAccount(t, cp, key), request); err != nil {
		t.Fatal(err)
	}
	return request.Status.Token
}

func impersonatingClient(t *testing.T, cp *controlplane.ControlPlane, token string, as rest.ImpersonationConfig) client.Client {
	t.Helper()
	config := rest.AnonymousClientConfig(cp.Config())
	config.BearerToken, config.Impersonate = token, as
	c, err := client.New(config, client.Options{Scheme: cp.Client().Scheme(), Mapper: cp.Client().RESTMapper()})
	if err != nil {
		t.Fatal(err)
	}
	return c
}
