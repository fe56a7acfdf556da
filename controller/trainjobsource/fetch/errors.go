package fetch

import (
	"context"
	"crypto/x509"
	"encoding/base64"
	"errors"
	"fmt"
	"net"
	"net/url"
	"strings"
	"time"
	"unicode"

	"github.com/trainyard/trainyard/api/message"
)

// ConfigError reports that somebody must change the TrainJobSource, its Secret or the repository. Another attempt
// without such a change will fail too.
type ConfigError struct{ Message string }

// Error returns the message, which has one line and contains no credentials.
func (e *ConfigError) Error() string { return e.Message }

// VerifyError reports that a commit does not meet the conditions of spec.verify.
type VerifyError struct{ Message string }

// Error returns the message, which has one line and contains no credentials.
func (e *VerifyError) Error() string { return e.Message }

func configErrorf(format string, args ...any) error {
	return &ConfigError{fmt.Sprintf(format, args...)}
}

func verifyErrorf(format string, args ...any) error {
	return &VerifyError{fmt.Sprintf(format, args...)}
}

// maxMessage is the maximum length of a message in characters. Without a limit, a server could make messages very long,
// because a message can contain text from the server.
const maxMessage = 500

// describe converts the error of a fetch into an error with a readable text. The text names the URL, has one line, and
// contains neither credentials nor control characters. The returned error does not wrap err, because err may contain
// credentials and control characters.
func describe(ctx context.Context, err error, where string, received *budget, secrets []string) error {
	var config *ConfigError
	var verify *VerifyError
	text := func(s string) string { return "fetching " + where + ": " + clean(s, secrets) }
	switch {
	case err == nil:
		return nil
	case errors.As(err, &config):
		return &ConfigError{text(config.Message)}
	case errors.As(err, &verify):
		return &VerifyError{text(verify.Message)}
	case received != nil && received.exceeded():
		return errors.New(text(received.message()))
	case ctx.Err() != nil:
		return fmt.Errorf("%s: %w", text("the server did not finish in time"), ctx.Err())
	}
	return errors.New(text(stable(err)))
}

// stable returns the text of a network error without the parts that differ at each attempt, such as the local port of a
// connection, or the current time. If the text were different at each attempt, the status of the TrainJobSource would also
// change at each attempt.
func stable(err error) string {
	if withURL := (*url.Error)(nil); errors.As(err, &withURL) {
		err = withURL.Err // the message already names the URL
	}
	name, connection, certificate := (*net.DNSError)(nil), (*net.OpError)(nil), x509.CertificateInvalidError{}
	switch {
	case errors.As(err, &certificate) && certificate.Reason == x509.Expired: // the usual text contains the current time
		from, to := certificate.Cert.NotBefore.UTC(), certificate.Cert.NotAfter.UTC()
		return fmt.Sprintf("the server's certificate is valid only from %s to %s", from.Format(time.RFC3339), to.Format(time.RFC3339))
	case errors.As(err, &name) && name.IsNotFound:
		return "the name " + name.Name + " does not exist"
	case errors.As(err, &name):
		return "the name " + name.Name + " cannot be resolved at the moment"
	case errors.As(err, &connection):
		shorter := *connection
		shorter.Source = nil
		return shorter.Error()
	}
	return err.Error()
}

// clean returns a text on one line, without invisible characters and without secrets. The text can come from a server
// that sends invisible characters or secrets.
func clean(text string, secrets []string) string {
	for _, secret := range secrets {
		text = strings.ReplaceAll(text, secret, "***")
	}
	text = strings.Map(func(r rune) rune {
		if unicode.IsSpace(r) || unicode.IsControl(r) || unicode.Is(unicode.Cf, r) || r == unicode.ReplacementChar {
			return ' '
		}
		return r
	}, text)
	return message.Shorten(strings.Join(strings.Fields(text), " "), maxMessage)
}

// listSecrets returns the texts that a message must not contain: each password and token, as plain text and in
// encodings such as Base64. Very short passwords and tokens are omitted, because messages would become unreadable if
// such short texts were replaced everywhere.
func listSecrets(secret map[string][]byte) []string {
	var texts []string
	for _, key := range []string{"password", "bearerToken"} {
		value := strings.TrimSpace(string(secret[key]))
		if len(value) < 4 {
			continue
		}
		basic := base64.StdEncoding.EncodeToString([]byte(string(secret["username"]) + ":" + value))
		texts = append(texts, basic, base64.StdEncoding.EncodeToString([]byte(value)), url.QueryEscape(value), url.PathEscape(value), value)
	}
	return texts
}
