package receiver

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"strings"
)

// These HTTP headers can carry the signature of a request.
const (
	githubHeader = "X-Hub-Signature-256" // sha256= and the HMAC of the body in hexadecimal digits
	giteaHeader  = "X-Gitea-Signature"   // the HMAC of the body in hexadecimal digits; Forgejo sends it too
	gitlabHeader = "X-Gitlab-Token"      // the secret itself
)

// minSecret is the minimum length of a secret in bytes. Shorter secrets can be guessed.
const minSecret = 16

// The variable "unknown" contains the secret that isAuthentic uses if the real secret is missing or too short.
// isAuthentic then takes as much time as for a wrong signature, so the time does not reveal whether a secret exists.
var unknown = []byte("a substitute for a secret that is missing or too short")

// isAuthentic reports whether a request carries a signature that was made with the secret. If a request carries several
// signatures, all of them must be valid.
func isAuthentic(header http.Header, body, secret []byte) bool {
	known := len(secret) >= minSecret
	if !known {
		secret = unknown
	}
	mac := hmac.New(sha256.New, secret)
	_, _ = mac.Write(body) // a hash returns no errors
	want := mac.Sum(nil)
	found, valid := 0, true
	check := func(ok bool) { found, valid = found+1, valid && ok }
	if value := header.Get(githubHeader); value != "" {
		digits, ok := strings.CutPrefix(value, "sha256=")
		check(ok && equalHex(digits, want))
	}
	if value := header.Get(giteaHeader); value != "" {
		check(equalHex(value, want))
	}
	if value := header.Get(gitlabHeader); value != "" {
		// The hashes have the same length, so the comparison does not reveal the length of the secret.
		got, expected := sha256.Sum256([]byte(value)), sha256.Sum256(secret)
		check(hmac.Equal(got[:], expected[:]))
	}
	return known && found > 0 && valid
}

// equalHex reports whether hexadecimal digits stand for the given bytes. equalHex compares the bytes in constant
// time.
func equalHex(digits string, want []byte) bool {
	got, err := hex.DecodeString(digits)
	return err == nil && hmac.Equal(got, want)
}
