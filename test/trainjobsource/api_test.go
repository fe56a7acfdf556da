package trainjobsource

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/trainyard/trainyard/api/crds"
	"github.com/trainyard/trainyard/api/v1alpha1"
	"github.com/trainyard/trainyard/test/controlplane"
)

func startWithCRD(t *testing.T, opts ...controlplane.Option) (*controlplane.ControlPlane, client.Client) {
	t.Helper()
	cp := controlplane.Start(t, append(opts, controlplane.CRDsOnly())...)
	crd := &unstructured.Unstructured{}
	text, err := yaml.YAMLToJSON(crds.TrainJobSource)
	if err != nil {
		t.Fatal(err)
	}
	if err := crd.UnmarshalJSON(text); err != nil {
		t.Fatal(err)
	}
	if err := cp.Apply(t.Context(), crd); err != nil {
		t.Fatal(err)
	}
	scheme := cp.Client().Scheme()
	if err := v1alpha1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	c, err := client.New(cp.Config(), client.Options{Scheme: scheme})
	if err != nil {
		t.Fatal(err)
	}
	controlplane.Eventually(t, func(ctx context.Context) error {
		return c.List(ctx, &v1alpha1.TrainJobSourceList{})
	})
	return cp, c
}

func TestAPIValidation(t *testing.T) {
	_, c := startWithCRD(t)
	url := "url: https://git.example.com/team/jobs.git"
	for name, tc := range map[string]struct {
		name string // of the object; "jobs" if empty
		spec string
		want string // a part of the message; empty if the object is valid
	}{
		"only a url":                 {spec: url},
		"no url":                     {spec: "path: a", want: "spec.url: Required value"},
		"ssh":                        {spec: "url: ssh://git@git.example.com:2222/team/jobs.git"},
		"http":                       {spec: "url: http://git.example.com/team/jobs.git"},
		"an IPv6 address":            {spec: `url: "https://[2001:db8::1]:8443/jobs"`},
		"a password":                 {spec: "url: https://user:secret@git.example.com/jobs.git", want: "spec.url in body should match"},
		"a user":                     {spec: "url: https://user@git.example.com/jobs.git", want: "spec.url in body should match"},
		"a file":                     {spec: "url: file:///etc/passwd", want: "spec.url in body should match"},
		"the short form of ssh":      {spec: "url: git@git.example.com:team/jobs.git", want: "spec.url in body should match"},
		"a query":                    {spec: "url: https://git.example.com/jobs?x=y", want: "spec.url in body should match"},
		"a space":                    {spec: `url: "https://git.example.com/a b"`, want: "spec.url in body should match"},
		"a long url":                 {spec: "url: https://git.example.com/" + strings.Repeat("a", 2048), want: "Too long: may not be more than 2048"},
		"the longest name":           {name: strings.Repeat("a", 63), spec: url},
		"a long name":                {name: strings.Repeat("a", 64), spec: url, want: "at most 63 lowercase letters"},
		"a name with a dot":          {name: "a.b", spec: url, want: "at most 63 lowercase letters"},
		"a branch":                   {spec: url + "\nref: {branch: feature/x.1}"},
		"an empty ref":               {spec: url + "\nref: {}", want: "spec.ref in body should have at least 1 properties"},
		"a branch and a tag":         {spec: url + "\nref: {branch: main, tag: v1}", want: "Too many: 2: must have at most 1 item"},
		"a branch with ..":           {spec: url + "\nref: {branch: a..b}", want: "branch must be a valid name"},
		"a branch with //":           {spec: url + "\nref: {branch: a//b}", want: "branch must be a valid name"},
		"a branch that ends with /":  {spec: url + "\nref: {branch: a/}", want: "branch must be a valid name"},
		"a branch named like a flag": {spec: url + "\nref: {branch: --upload-pack=x}", want: "branch must be a valid name"},
		"a branch with .lock":        {spec: url + "\nref: {branch: a.lock}", want: "branch must be a valid name"},
		"a tag":                      {spec: url + "\nref: {tag: v1.2.0}"},
		"a tag with a colon":         {spec: url + "\nref: {tag: \"a:b\"}", want: "tag must be a valid name"},
		"a range of versions":        {spec: url + "\nref: {semver: \">=1.2.0 <2.0.0\"}"},
		"a long range of versions":   {spec: url + "\nref: {semver: \"" + strings.Repeat("1", 129) + "\"}", want: "may not be more than 128"},
		"a commit":                   {spec: url + "\nref: {commit: " + strings.Repeat("0a", 20) + "}"},
		"a short commit":             {spec: url + "\nref: {commit: abcdef0}", want: "spec.ref.commit in body should match"},
		"a path":                     {spec: url + "\npath: teams/vision"},
		"an absolute path":           {spec: url + "\npath: /etc", want: "path must be relative"},
		"a path with ..":             {spec: url + "\npath: a/../b", want: "path must be relative"},
		"a path with dots in a name": {spec: url + "\npath: a..b/c"},
		"an empty path":              {spec: url + "\npath: \"\"", want: "spec.path in body should be at least 1 chars"},
		"the shortest interval":      {spec: url + "\ninterval: 10s"},
		"a short interval":           {spec: url + "\ninterval: 9s", want: "interval must be between 10s and 24h"},
		"a day":                      {spec: url + "\ninterval: 24h"},
		"more than a day":            {spec: url + "\ninterval: 24h1s", want: "interval must be between 10s and 24h"},
		"milliseconds":               {spec: url + "\ninterval: 10000ms", want: "spec.interval in body should match"},
		"an empty interval":          {spec: url + "\ninterval: \"\"", want: "spec.interval"},
		"the longest timeout":        {spec: url + "\ntimeout: 10m"},
		"no timeout":                 {spec: url + "\ntimeout: 0s", want: "timeout must be between 1s and 10m"},
		"a long timeout":             {spec: url + "\ntimeout: 10m1s", want: "timeout must be between 1s and 10m"},
		"a Secret":                   {spec: url + "\nsecretRef: {name: git.credentials}"},
		"a Secret in a namespace":    {spec: url + "\nsecretRef: {name: other/git}", want: "spec.secretRef.name in body should match"},
		"keys":                       {spec: url + "\nverify: {secretRef: {name: keys}, linearHistory: true}"},
		"an empty verification":      {spec: url + "\nverify: {}", want: "spec.verify in body should have at least 1 properties"},
		"an account":                 {spec: url + "\nserviceAccountName: robots"},
		"an account with a colon":    {spec: url + "\nserviceAccountName: \"a:b\"", want: "spec.serviceAccountName in body should match"},
		"RunAlongside":               {spec: url + "\nonChange: RunAlongside"},
		"Replace":                    {spec: url + "\nonChange: Replace"},
		"Ignore":                     {spec: url + "\nonChange: Ignore"},
		"another change policy":      {spec: url + "\nonChange: Restart", want: `Unsupported value: "Restart": supported values: "Queue", "RunAlongside", "Replace", "Ignore"`},
		"Never":                      {spec: url + "\nprune: Never"},
		"Always":                     {spec: url + "\nprune: Always"},
		"another prune policy":       {spec: url + "\nprune: true1", want: `Unsupported value: "true1": supported values: "Never", "Finished", "Always"`},
		"limits":                     {spec: url + "\nhistoryLimits: {succeeded: 0, failed: 100}"},
		"a negative limit":           {spec: url + "\nhistoryLimits: {succeeded: -1}", want: "should be greater than or equal to 0"},
		"a high limit":               {spec: url + "\nhistoryLimits: {failed: 101}", want: "should be less than or equal to 100"},
		"an unknown field":           {spec: url + "\nprunes: Always", want: `unknown field "spec.prunes"`},
		"suspend and dryRun":         {spec: url + "\nsuspend: true\ndryRun: true"},
	} {
		t.Run(name, func(t *testing.T) {
			object := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{}}}
			var spec map[string]any
			if err := yaml.Unmarshal([]byte(tc.spec), &spec); err != nil {
				t.Fatal(err)
			}
			object.Object["spec"] = spec
			object.SetGroupVersionKind(v1alpha1.GroupVersion.WithKind(v1alpha1.TrainJobSourceKind))
			object.SetNamespace("default")
			object.SetName(tc.name)
			if tc.name == "" {
				object.SetName("jobs")
			}
			err := c.Create(t.Context(), object, client.DryRunAll, client.FieldValidation(metav1.FieldValidationStrict))
			if tc.want == "" && err != nil {
				t.Errorf("refused: %v", err)
			}
			if tc.want != "" && (err == nil || !strings.Contains(err.Error(), tc.want)) {
				t.Errorf("the API server answers %v, want a message with %q", err, tc.want)
			}
		})
	}
}

func TestAPIDefaults(t *testing.T) {
	_, c := startWithCRD(t)
	source := &v1alpha1.TrainJobSource{Spec: v1alpha1.TrainJobSourceSpec{URL: "https://git.example.com/jobs.git"}}
	source.Namespace, source.Name = "default", "defaults"
	if err := c.Create(t.Context(), source, client.DryRunAll, client.FieldValidation(metav1.FieldValidationStrict)); err != nil {
		t.Fatal(err)
	}
	want := v1alpha1.TrainJobSourceSpec{
		URL: "https://git.example.com/jobs.git", Path: ".", Interval: metav1.Duration{Duration: 5 * time.Minute},
		Timeout: metav1.Duration{Duration: time.Minute}, ServiceAccountName: "trainyard-jobs",
		OnChange: v1alpha1.ChangeQueue, Prune: v1alpha1.PruneFinished,
		HistoryLimits: v1alpha1.HistoryLimits{Succeeded: new(int32(3)), Failed: new(int32(3))},
	}
	if diff := cmp.Diff(want, source.Spec); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	if source.Status.ObservedGeneration != -1 {
		t.Errorf("observedGeneration is %d, want -1 until the controller has handled the object", source.Status.ObservedGeneration)
	}
}

// TestAPIColumns checks the columns that kubectl prints. To fill the columns about the status, the test updates the
// status subresource of a TrainJobSource.
func TestAPIColumns(t *testing.T) {
	cp, c := startWithCRD(t)
	source := &v1alpha1.TrainJobSource{Spec: v1alpha1.TrainJobSourceSpec{URL: "https://git.example.com/jobs.git"}}
	source.Namespace, source.Name = cp.Namespace(t), "jobs"
	if err := c.Create(t.Context(), source); err != nil {
		t.Fatal(err)
	}
	source.Status = v1alpha1.TrainJobSourceStatus{
		Applied: &v1alpha1.Revision{Commit: strings.Repeat("0a", 20), Time: metav1.Now()},
		Summary: v1alpha1.JobSummary{Jobs: 3, Active: 2},
	}
	meta.SetStatusCondition(&source.Status.Conditions, metav1.Condition{Type: v1alpha1.ReadyCondition, Status: "True", Reason: v1alpha1.ReasonApplied, Message: "3 jobs"})
	if err := c.Status().Update(t.Context(), source); err != nil {
		t.Fatal(err)
	}
	got := columns(t, cp, source)
	want := map[string]any{
		"Name": "jobs", "Ready": "True", "Reason": "Applied", "Jobs": 3.0, "Active": 2.0, "Commit": strings.Repeat("0a", 20),
		"URL": "https://git.example.com/jobs.git", "Message": "3 jobs",
	}
	delete(got, "Age")
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// columns returns the table row that the command `kubectl get -o wide` prints for a TrainJobSource. The keys of the
// result are the names of the columns.
func columns(t *testing.T, cp *controlplane.ControlPlane, source *v1alpha1.TrainJobSource) map[string]any {
	t.Helper()
	h, err := rest.HTTPClientFor(cp.Config())
	if err != nil {
		t.Fatal(err)
	}
	url := fmt.Sprintf("%s/apis/%s/namespaces/%s/trainjobsources/%s", strings.TrimSuffix(cp.Config().Host, "/"), v1alpha1.APIVersion, source.Namespace, source.Name)
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Accept", "application/json;as=Table;g=meta.k8s.io;v=v1")
	response, err := h.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }()
	var table metav1.Table
	if err := json.NewDecoder(response.Body).Decode(&table); err != nil {
		t.Fatal(err)
	}
	found := map[string]any{}
	for i, column := range table.ColumnDefinitions {
		found[column.Name] = table.Rows[0].Cells[i]
	}
	return found
}
