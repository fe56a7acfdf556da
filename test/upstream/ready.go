package upstream

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"sigs.k8s.io/controller-runtime/pkg/envtest"
)

// webhookURLs lists the URLs at which kube-apiserver calls the webhooks.
func webhookURLs(hooks *envtest.WebhookInstallOptions) []string {
	var urls []string
	for _, c := range hooks.MutatingWebhooks {
		for _, w := range c.Webhooks {
			urls = append(urls, *w.ClientConfig.URL)
		}
	}
	for _, c := range hooks.ValidatingWebhooks {
		for _, w := range c.Webhooks {
			urls = append(urls, *w.ClientConfig.URL)
		}
	}
	return urls
}

// OK returns a function that succeeds if a GET request to the given URL returns status 200. The returned function
// accepts any TLS certificate of the server.
func OK(url string) func(context.Context) error {
	c := &http.Client{Transport: &http.Transport{
		TLSClientConfig: &tls.Config{InsecureSkipVerify: true},
	}}
	return func(ctx context.Context) error { return expectOK(ctx, c, http.MethodGet, url, "") }
}

// readyCheck returns a function that succeeds once a manager reports that it is ready and each of its webhooks
// responds. A manager can report that it is ready before it has registered its webhooks. Until a webhook is registered,
// its URL returns status 404.
func readyCheck(readyz string, webhooks []string, ca []byte) func(context.Context) error {
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(ca)
	c := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots}}}
	return func(ctx context.Context) error {
		err := expectOK(ctx, c, http.MethodGet, readyz, "")
		for _, url := range webhooks {
			err = errors.Join(err, expectOK(ctx, c, http.MethodPost, url, emptyReview))
		}
		return err
	}
}

// emptyReview is a request that webhooks allow without further checks.
const emptyReview = `{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","request":{"uid":"ready","operation":"CONNECT"}}`

// expectOK sends a request, and fails unless the response has status 200.
func expectOK(ctx context.Context, c *http.Client, method, url, body string) error {
	request, err := http.NewRequestWithContext(ctx, method, url, strings.NewReader(body))
	if err != nil {
		return err
	}
	request.Header.Set("Content-Type", "application/json")
	response, err := c.Do(request)
	if err != nil {
		return err
	}
	defer func() { _ = response.Body.Close() }()
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("%s: %s", url, response.Status)
	}
	return nil
}
