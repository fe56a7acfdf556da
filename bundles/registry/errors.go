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

// DeniedError says that the registry does not let somebody write.
type DeniedError struct{ text string }

// Error says whom the registry knows, and what to do.
func (d *DeniedError) Error() string { return d.text }

// explain says in a line what went wrong, and what a person can do. The library's
// own errors hold addresses of requests, and answers in full.
func (r Repository) explain(ctx context.Context, err error) error {
	if err == nil {
		return nil
	}
	if ctx.Err() != nil {
		return fmt.Errorf("publishing to %s: %w", r, cause(ctx))
	}
	var answer *transport.Error
	if errors.As(err, &answer) {
		return r.answered(answer)
	}
	return fmt.Errorf("publishing to %s: %w", r, unreached(err))
}

func cause(ctx context.Context) error {
	if err := ctx.Err(); errors.Is(err, context.DeadlineExceeded) {
		return fmt.Errorf("time was over (%w): give it more with --timeout", err)
	}
	return fmt.Errorf("interrupted (%w)", ctx.Err())
}

// answered is about a registry that says no.
func (r Repository) answered(answer *transport.Error) error {
	says := said(answer)
	switch answer.StatusCode {
	case http.StatusUnauthorized:
		return &DeniedError{fmt.Sprintf("publishing to %s: the registry wants other credentials (%s): log in with docker login %[3]s or podman login %[3]s", r, says, r.name.RegistryStr())}
	case http.StatusForbidden:
		return &DeniedError{fmt.Sprintf("publishing to %s: the registry forbids it (%s): log in as somebody who may push there, or take another tag where none may be overwritten", r, says)}
	case http.StatusNotFound:
		return fmt.Errorf("publishing to %s: the registry does not know the repository, and makes none by itself (%s): create it there", r, says)
	case http.StatusRequestEntityTooLarge:
		return fmt.Errorf("publishing to %s: the registry takes nothing that large (%s)", r, says)
	case http.StatusTooManyRequests:
		return fmt.Errorf("publishing to %s: the registry has had too many requests (%s): try again later", r, says)
	default:
		return fmt.Errorf("publishing to %s: the registry answers %s", r, says)
	}
}

// maxSaid bounds how much of an answer a message holds, which is whatever somebody else's program says.
const maxSaid = 200 // characters

// said is the answer in short: its status and, where the registry explains itself, the first reason.
func said(answer *transport.Error) string {
	text := fmt.Sprintf("%d %s", answer.StatusCode, http.StatusText(answer.StatusCode))
	if len(answer.Errors) > 0 {
		text += ": " + answer.Errors[0].Message
	}
	return oneLine(text)
}

func oneLine(text string) string {
	text = strings.Map(func(r rune) rune {
		if unicode.IsPrint(r) {
			return r
		}
		return ' '
	}, text)
	words := []rune(strings.Join(strings.Fields(text), " "))
	if len(words) > maxSaid {
		return string(words[:maxSaid]) + "..."
	}
	return string(words)
}

// unreached is about a registry that does not answer, or not as one.
func unreached(err error) error {
	var (
		number    syscall.Errno
		name      *net.DNSError
		plain     tls.RecordHeaderError
		unknown   x509.UnknownAuthorityError
		of        *url.Error
		authority = "its certificate is of nobody that this machine trusts: SSL_CERT_FILE names a file with more"
	)
	switch {
	case errors.As(err, &name):
		return fmt.Errorf("nobody knows the host %s", name.Name)
	case errors.As(err, &plain), strings.Contains(err.Error(), "server gave HTTP response to HTTPS client"):
		return errors.New("the registry does not speak TLS: if that is meant, allow it with --plain-http")
	case errors.As(err, &unknown):
		return errors.New(authority)
	case errors.As(err, &number):
		return fmt.Errorf("cannot reach the registry: %w", number)
	case errors.As(err, &of):
		return errors.New(oneLine("cannot reach the registry: " + of.Err.Error()))
	default:
		return errors.New(oneLine(err.Error()))
	}
}
