package receiver

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"strings"
	"testing"
)

const testSecret = "0123456789abcdef"

func sign(secret, body string) string {
	mac := hmac.New(sha256.New, []byte(secret))
	mac.Write([]byte(body))
	return hex.EncodeToString(mac.Sum(nil))
}

func TestIsAuthentic(t *testing.T) {
	good := sign(testSecret, "body")
	for name, tc := range map[string]struct {
		secret string
		header map[string]string
		want   bool
	}{
		"GitHub":                       {testSecret, map[string]string{githubHeader: "sha256=" + good}, true},
		"Gitea":                        {testSecret, map[string]string{giteaHeader: good}, true},
		"Gitea sends both":             {testSecret, map[string]string{giteaHeader: good, githubHeader: "sha256=" + good}, true},
		"GitLab":                       {testSecret, map[string]string{gitlabHeader: testSecret}, true},
		"no signature":                 {testSecret, nil, false},
		"SHA-1":                        {testSecret, map[string]string{githubHeader: "sha1=" + good}, false},
		"no prefix":                    {testSecret, map[string]string{githubHeader: good}, false},
		"another body":                 {testSecret, map[string]string{githubHeader: "sha256=" + sign(testSecret, "other")}, false},
		"another secret":               {testSecret, map[string]string{githubHeader: "sha256=" + sign("x", "body")}, false},
		"the beginning of a signature": {testSecret, map[string]string{giteaHeader: good[:32]}, false},
		"no hexadecimal digits":        {testSecret, map[string]string{giteaHeader: strings.Repeat("zz", 32)}, false},
		"one valid, one invalid":       {testSecret, map[string]string{giteaHeader: good, gitlabHeader: "x"}, false},
		"the beginning of the secret":  {testSecret, map[string]string{gitlabHeader: testSecret[:8]}, false},
		"no secret":                    {"", map[string]string{giteaHeader: sign("", "body")}, false},
		"no secret, empty token":       {"", map[string]string{gitlabHeader: ""}, false},
		"the stand-in for no secret":   {"", map[string]string{giteaHeader: sign(string(unknown), "body"), gitlabHeader: string(unknown)}, false},
		"a short secret":               {"short", map[string]string{gitlabHeader: "short"}, false},
	} {
		t.Run(name, func(t *testing.T) {
			header := http.Header{}
			for key, value := range tc.header {
				header.Set(key, value)
			}
			if got := isAuthentic(header, []byte("body"), []byte(tc.secret)); got != tc.want {
				t.Errorf("authentic: %v, want %v", got, tc.want)
			}
		})
	}
}
