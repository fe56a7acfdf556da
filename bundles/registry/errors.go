package registry

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strings"
	"syscall"
	"unicode"

	"github.com/google/go-containerregistry/pkg/v1/remote/transport"
)

// DeniedError reports that the registry refuses the credentials, or forbids the upload with these credentials.
type DeniedError struct{ text string }

// Error describes the response of the registry, and what the user can do.
func (d *DeniedError) Error() string { return d.text }

// explain converts an error of the library go-containerregistry to an error message for users. Errors of the library
// can contain URLs and complete responses. The error message for users is one line that names the cause and the next
// step.
func (r Repository) explain(ctx context.Context, err error) error {
	var response *transport.Error
	switch {
	case err == nil:
		return nil
	case errors.Is(ctx.Err(), context.DeadlineExceeded):
		err = fmt.Errorf("the timeout expired (%w): raise it with --timeout", ctx.Err())
	case ctx.Err() != nil:
		err = fmt.Errorf("interrupted (%w)", ctx.Err())
	case errors.As(err, &response):
		return r.refusal(response)
	default:
		err = unreachable(err)
	}
	return fmt.Errorf("publishing to %s: %w", r, err)
}

// refusalMessages contains error messages for responses of a registry. The key of each message is the status code of
// the response. In each message, %s stands for the summary of the response.
var refusalMessages = map[int]string{
	http.StatusUnauthorized:          "the registry refuses the credentials (%s): log in with docker login HOST or podman login HOST",
	http.StatusForbidden:             "the registry forbids the upload (%s): log in as a user who can push there or, if the registry allows no overwriting, use another tag",
	http.StatusNotFound:              "the registry has no such repository, and does not create one by itself (%s): create the repository there",
	http.StatusRequestEntityTooLarge: "the artifact is too large for the registry (%s)",
	http.StatusTooManyRequests:       "the registry has received too many requests (%s): try again later",
}

func (r Repository) refusal(response *transport.Error) error {
	message, ok := refusalMessages[response.StatusCode]
	if !ok {
		message = "the registry responds with %s"
	}
	message = strings.ReplaceAll(message, "HOST", r.name.RegistryStr())
	text := fmt.Sprintf("publishing to %s: "+message, r, summarize(response))
	if response.StatusCode == http.StatusUnauthorized || response.StatusCode == http.StatusForbidden {
		return &DeniedError{text}
	}
	return errors.New(text)
}

// maxSummary is the maximum length of the text that a message quotes from a response. A registry can send text of any
// length.
const maxSummary = 200 // characters

// summarize returns the status of a response. If the response contains errors, summarize adds the first error.
func summarize(response *transport.Error) string {
	text := fmt.Sprintf("%d %s", response.StatusCode, http.StatusText(response.StatusCode))
	if len(response.Errors) > 0 {
		text += ": " + response.Errors[0].Message
	}
	return oneLine(text)
}

// oneLine replaces unprintable characters by spaces, and shortens the text to maxSummary.
func oneLine(text string) string {
	text = strings.Map(func(r rune) rune {
		if unicode.IsPrint(r) {
			return r
		}
		return ' '
	}, text)
	short := []rune(strings.Join(strings.Fields(text), " "))
	if len(short) > maxSummary {
		return string(short[:maxSummary]) + "..."
	}
	return string(short)
}

func unreachable(err error) error {
	var (
		number  syscall.Errno
		name    *net.DNSError
		plain   tls.RecordHeaderError
		unknown x509.UnknownAuthorityError
		request *url.Error
	)
	switch {
	case errors.As(err, &name):
		return fmt.Errorf("cannot find the host %s", name.Name)
	case errors.As(err, &plain), strings.Contains(err.Error(), "server gave HTTP response to HTTPS client"):
		return errors.New("the registry does not use TLS: if that is intended, allow it with --plain-http")
	case errors.As(err, &unknown):
		return errors.New("this machine does not trust the issuer of the registry's certificate: set the environment variable SSL_CERT_FILE to a file with the issuer's certificate")
	case errors.As(err, &number):
		return fmt.Errorf("cannot reach the registry: %w", number)
	case errors.As(err, &request):
		return errors.New(oneLine("cannot reach the registry: " + request.Err.Error()))
	default:
		return errors.New(oneLine(err.Error()))
	}
}
