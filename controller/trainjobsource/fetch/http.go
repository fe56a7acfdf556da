package fetch

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"
)

const (
	uploadPack   = "git-upload-pack"
	userAgent    = "git/2 (trainyard)" // some servers answer only to clients whose name starts with git/
	maxRedirects = 3
)

// httpRemote is a repository on an HTTP server.
type httpRemote struct {
	client      *http.Client
	base        *url.URL // of the repository; a redirect of the first request changes it
	credentials credentials
	bodies      []io.Closer
}

func newHTTPRemote(a address, c credentials, d dialer, wait time.Duration) *httpRemote {
	transport := &http.Transport{
		DialContext:            d.dial,
		TLSClientConfig:        &tls.Config{RootCAs: c.roots, MinVersion: tls.VersionTLS12},
		TLSHandshakeTimeout:    min(wait, 15*time.Second),
		ResponseHeaderTimeout:  wait,
		MaxResponseHeaderBytes: 64 << 10,
		DisableCompression:     true, // the limits count what the server sends
	}
	return &httpRemote{
		client:      &http.Client{Transport: transport, CheckRedirect: checkRedirect},
		base:        a.url(),
		credentials: c,
	}
}

// checkRedirect allows redirects of GET requests to another path on the same server. Redirects to other servers are not
// allowed, because these servers could get the credentials in the request.
func checkRedirect(next *http.Request, earlier []*http.Request) error {
	if earlier[0].Method != http.MethodGet {
		return http.ErrUseLastResponse
	}
	first := earlier[0].URL
	if next.URL.Scheme != first.Scheme || next.URL.Host != first.Host || next.URL.User != nil {
		return configErrorf("the server redirects to %s://%s: redirects to another server are not followed, so set spec.url to the new address", next.URL.Scheme, next.URL.Host)
	}
	if len(earlier) > maxRedirects {
		return configErrorf("the server redirects more than %d times", maxRedirects)
	}
	return nil
}

func (h *httpRemote) advertisement(ctx context.Context) (io.Reader, error) {
	const list = "/info/refs"
	target := h.base.JoinPath(list)
	target.RawQuery = "service=" + uploadPack
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, target.String(), nil)
	if err != nil {
		return nil, err
	}
	response, err := h.do(request)
	if err != nil {
		return nil, err
	}
	if got := response.contentType; got != "application/x-"+uploadPack+"-advertisement" {
		return nil, configErrorf("the server did not answer with the Git protocol, but with Content-Type %q: check that spec.url is the URL of a Git repository", got)
	}
	base := *response.url
	if !strings.HasSuffix(base.Path, list) {
		return nil, configErrorf("the server redirects to a page that does not belong to a Git repository: check spec.url")
	}
	base.Path, base.RawPath, base.RawQuery = strings.TrimSuffix(base.Path, list), "", ""
	h.base = &base
	return response.body, nil
}

func (h *httpRemote) exchange(ctx context.Context, message []byte) (io.Reader, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, h.base.JoinPath(uploadPack).String(), bytes.NewReader(message))
	if err != nil {
		return nil, err
	}
	request.Header.Set("Content-Type", "application/x-"+uploadPack+"-request")
	request.Header.Set("Accept", "application/x-"+uploadPack+"-result")
	response, err := h.do(request)
	if err != nil {
		return nil, err
	}
	if got := response.contentType; got != "application/x-"+uploadPack+"-result" {
		return nil, fmt.Errorf("the server did not answer with the Git protocol, but with Content-Type %q", got)
	}
	return response.body, nil
}

// answer is a response with status 200. Callers need not close the body, because the method "close"
// of httpRemote closes it.
type answer struct {
	body        io.Reader
	contentType string
	url         *url.URL // after redirects
}

// do(request) sends the given HTTP request.
func (h *httpRemote) do(request *http.Request) (answer, error) {
	request.Header.Set("User-Agent", userAgent)
	switch c := h.credentials; {
	case c.token != "":
		request.Header.Set("Authorization", "Bearer "+c.token)
	case c.username != "":
		request.SetBasicAuth(c.username, c.password)
	}
	response, err := h.client.Do(request) //nolint:bodyclose // the method close closes it
	if unknown := (x509.UnknownAuthorityError{}); errors.As(err, &unknown) {
		return answer{}, configErrorf("the server's certificate is signed by an unknown authority: put the certificate of the authority into ca.crt of the Secret")
	}
	if err != nil {
		return answer{}, err
	}
	h.bodies = append(h.bodies, response.Body)
	return answer{response.Body, response.Header.Get("Content-Type"), response.Request.URL}, h.checkStatus(response)
}

func (h *httpRemote) checkStatus(response *http.Response) error {
	switch code := response.StatusCode; code {
	case http.StatusOK:
		return nil
	case http.StatusUnauthorized, http.StatusForbidden:
		if h.credentials.token == "" && h.credentials.username == "" {
			return configErrorf("the server requires credentials (status %d): set spec.secretRef to a Secret with credentials", code)
		}
		return configErrorf("the server refused the credentials in the Secret (status %d)", code)
	case http.StatusNotFound, http.StatusGone:
		return configErrorf("the repository does not exist, or the credentials do not allow reading it (status %d)", code)
	case http.StatusMovedPermanently, http.StatusFound, http.StatusTemporaryRedirect, http.StatusPermanentRedirect, http.StatusSeeOther:
		return configErrorf("the server answered with a redirect that the controller does not follow (status %d): set spec.url to the new address", code)
	default:
		return fmt.Errorf("the server answered with status %d", code)
	}
}

func (h *httpRemote) close() {
	for _, body := range h.bodies {
		_ = body.Close() // the response was read as far as it is needed
	}
	h.client.CloseIdleConnections()
}
