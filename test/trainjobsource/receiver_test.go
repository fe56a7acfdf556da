package trainjobsource

import (
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trainyard/trainyard/api/v1alpha1"
	"github.com/trainyard/trainyard/controller/trainjobsource/receiver"
)

// newReceiver creates a receiver of webhook requests, and returns a function that sends requests to this receiver. The
// function puts the argument "token" into the header X-Gitlab-Token, as GitLab does. The token is the secret itself,
// not a signature.
func newReceiver(l *live) func(method, path, token string, body io.Reader) *httptest.ResponseRecorder {
	r := &receiver.Receiver{Client: l.cp.Client(), Secrets: l.cp.Client()}
	return func(method, path, token string, body io.Reader) *httptest.ResponseRecorder {
		request := httptest.NewRequestWithContext(l.t.Context(), method, path, body)
		request.Header.Set("X-Gitlab-Token", token)
		answer := httptest.NewRecorder()
		r.ServeHTTP(answer, request)
		return answer
	}
}

const hookToken = "0123456789abcdef0123"

// broken simulates a request body that cannot be read, because the connection was closed.
type broken struct{}

func (broken) Read([]byte) (int, error) { return 0, errors.New("the connection was closed") }

// TestWebhookAttacks checks the responses to requests that attack the receiver, or that try to find out the names of
// TrainJobSources and Secrets. All forbidden requests must get the same response.
func TestWebhookAttacks(t *testing.T) {
	l := newLive(t)
	l.putSecret(tenants[0], "hook", "", map[string]string{"webhook": hookToken})
	l.putSecret(tenants[0], "no-hook", "", map[string]string{"password": hookToken})
	l.object.Spec.SecretRef = &v1alpha1.LocalReference{Name: "hook"}
	l.create()
	for name, secret := range map[string]*v1alpha1.LocalReference{"no-secret": nil, "no-key": {Name: "no-hook"}, "missing": {Name: "missing"}} {
		other := l.newSource(name)
		other.Spec.SecretRef = secret
		if err := l.cp.Client().Create(t.Context(), other); err != nil {
			t.Fatal(err)
		}
	}
	send := newReceiver(l)
	hook := "/hook/" + tenants[0] + "/"
	refused := send(http.MethodPost, hook+"jobs", "wrong", strings.NewReader("{}"))
	for name, tc := range map[string]struct {
		method, path, token string
		body                io.Reader
		want                int
	}{
		"an unknown source":        {http.MethodPost, hook + "unknown", hookToken, strings.NewReader("{}"), http.StatusForbidden},
		"an unknown namespace":     {http.MethodPost, "/hook/unknown/jobs", hookToken, strings.NewReader("{}"), http.StatusForbidden},
		"a path as a name":         {http.MethodPost, hook + "..%2f..%2fsecrets", hookToken, strings.NewReader("{}"), http.StatusForbidden},
		"a source without Secret":  {http.MethodPost, hook + "no-secret", hookToken, strings.NewReader("{}"), http.StatusForbidden},
		"a Secret without the key": {http.MethodPost, hook + "no-key", hookToken, strings.NewReader("{}"), http.StatusForbidden},
		"a missing Secret":         {http.MethodPost, hook + "missing", hookToken, strings.NewReader("{}"), http.StatusForbidden},
		"no token":                 {http.MethodPost, hook + "jobs", "", strings.NewReader("{}"), http.StatusForbidden},
		"a large body":             {http.MethodPost, hook + "jobs", hookToken, strings.NewReader(strings.Repeat("a", 1<<20+1)), http.StatusRequestEntityTooLarge},
		"a broken body":            {http.MethodPost, hook + "jobs", hookToken, broken{}, http.StatusBadRequest},
		"GET":                      {http.MethodGet, hook + "jobs", hookToken, nil, http.StatusMethodNotAllowed},
		"another path":             {http.MethodPost, "/", hookToken, nil, http.StatusNotFound},
		"a body that is no JSON":   {http.MethodPost, hook + "jobs", hookToken, strings.NewReader("\x00[[[[{"), http.StatusAccepted},
	} {
		t.Run(name, func(t *testing.T) {
			answer := send(tc.method, tc.path, tc.token, tc.body)
			if answer.Code != tc.want {
				t.Errorf("the answer is %d, want %d: %s", answer.Code, tc.want, answer.Body)
			}
			if tc.want == http.StatusForbidden && answer.Body.String() != refused.Body.String() {
				t.Errorf("the answer is %q, but for a wrong token %q", answer.Body, refused.Body)
			}
		})
	}
	if err := l.cp.Client().Get(t.Context(), client.ObjectKeyFromObject(l.object), l.object); err != nil {
		t.Fatal(err)
	}
	if got := l.object.Annotations[v1alpha1.SyncAnnotation]; !strings.HasPrefix(got, "webhook at ") {
		t.Errorf("the annotation of the request that was accepted is %q", got)
	}
}

// TestWebhookLimits: during a flood of requests for one TrainJobSource, the receiver must accept requests
// for other TrainJobSources.
func TestWebhookLimits(t *testing.T) {
	l := newLive(t)
	l.putSecret(tenants[0], "hook", "", map[string]string{"webhook": hookToken})
	l.object.Spec.SecretRef = &v1alpha1.LocalReference{Name: "hook"}
	l.create()
	other := l.newSource("other")
	other.Spec.SecretRef = l.object.Spec.SecretRef
	if err := l.cp.Client().Create(t.Context(), other); err != nil {
		t.Fatal(err)
	}
	send := newReceiver(l)
	post := func(name, token string) int {
		return send(http.MethodPost, "/hook/"+tenants[0]+"/"+name, token, strings.NewReader("{}")).Code
	}
	codes := map[int]int{}
	for range 15 {
		codes[post("jobs", hookToken)]++
	}
	if codes[http.StatusAccepted] < 5 || codes[http.StatusTooManyRequests] == 0 {
		t.Errorf("a flood for one TrainJobSource: %v, want some accepted and some refused", codes)
	}
	if got := post("other", hookToken); got != http.StatusAccepted {
		t.Errorf("another TrainJobSource: %d, want it accepted", got)
	}
	limited := false
	for range 2000 {
		if limited = post("unknown", "wrong") == http.StatusTooManyRequests; limited {
			break
		}
	}
	if !limited {
		t.Error("a flood of requests without a signature is not limited")
	}
}
