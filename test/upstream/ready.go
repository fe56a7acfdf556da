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

// webhookURLs are the addresses kube-apiserver will call.
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

// OK asks for a URL without judging certificates, and wants status 200.
func OK(url string) func(context.Context) error {
	c := &http.Client{Transport: &http.Transport{
		TLSClientConfig: &tls.Config{InsecureSkipVerify: true},
	}}
	return func(ctx context.Context) error { return ask(ctx, c, http.MethodGet, url, "") }
}

// answers checks that a manager is ready and that each of its webhooks answers. The second
// is not idle: a manager calls itself ready, and serves 404, before it has registered them.
func answers(readyz string, webhooks []string, ca []byte) func(context.Context) error {
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(ca)
	c := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots}}}
	return func(ctx context.Context) error {
		err := ask(ctx, c, http.MethodGet, readyz, "")
		for _, url := range webhooks {
			err = errors.Join(err, ask(ctx, c, http.MethodPost, url, emptyReview))
		}
		return err
	}
}

// emptyReview is a question that webhooks have no opinion on.
const emptyReview = `{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","request":{"uid":"ready","operation":"CONNECT"}}`

// ask sends a request and wants status 200.
func ask(ctx context.Context, c *http.Client, method, url, body string) error {
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
		return fmt.Errorf("asking %s: %s", url, response.Status)
	}
	return nil
}
