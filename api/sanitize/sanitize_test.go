package sanitize

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
)

const (
	lettersAndDigits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"
	upperAndDigits   = "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
	hexDigits        = "0123456789abcdef"
	urlSafe          = lettersAndDigits + "_-"
	base64Digits     = lettersAndDigits + "+/"
	punctuation      = lettersAndDigits + "!#$%^*_+-.~,;&@()"
)

// secretKinds lists log lines that contain a secret. In each line, %s stands for the secret. TestSecretsAreReplaced
// creates the secret: the text in the field "prefix", followed by random characters from the field "alphabet". The
// field "length" is the number of random characters.
var secretKinds = []struct {
	line, prefix, alphabet string
	length                 int
}{
	{"export HF_TOKEN=%s", "hf_", lettersAndDigits, 34},
	{"HTTPError: 401 for token %s", "hf_", lettersAndDigits, 34},
	{"WANDB_API_KEY: %s", "", hexDigits, 40},
	{"wandb: Appending key for api.wandb.ai, api_key='%s'", "", hexDigits, 40},
	{"Cloning https://%s@github.com/acme/models.git", "ghp_", lettersAndDigits, 36},
	{"fatal: unable to access 'https://oauth2:%s@gitlab.example.com/acme.git/'", "glpat-", urlSafe, 20},
	{"remote: Invalid credentials github_token=%s", "github_pat_", lettersAndDigits, 60},
	{"aws_access_key_id = %s", "AKIA", upperAndDigits, 16},
	{"botocore: using %s from environment", "ASIA", upperAndDigits, 16},
	{"AWS_SECRET_ACCESS_KEY=%s", "", base64Digits, 40},
	{`{"aws_session_token": "%s", "region": "eu-central-1"}`, "", base64Digits, 120},
	{"GET https://bucket.s3.amazonaws.com/a?X-Amz-Signature=%s&X-Amz-Expires=60", "", hexDigits, 64},
	{"DefaultEndpointsProtocol=https;AccountName=acme;AccountKey=%s;EndpointSuffix=core.windows.net", "", base64Digits, 86},
	{"azcopy https://acme.blob.core.windows.net/c?sv=2024&sig=%s", "", urlSafe, 44},
	{"google.auth: refreshed %s", "ya29.", urlSafe, 60},
	{"key %s is over its quota", "AIza", urlSafe, 35},
	{"> Authorization: Bearer %s", "", urlSafe, 40},
	{"authorization=Basic %s", "", base64Digits, 24},
	{`headers={'Authorization': 'token %s'}`, "", hexDigits, 40},
	{"oc login --token %s --server=https://api.example.com:6443", "sha256~", urlSafe, 43},
	{"kubeconfig has the bearer %s", "eyJhbGciOiJSUzI1NiJ9.eyJpc3MiOiJrOHMifQ.", urlSafe, 60},
	{"postgresql://trainer:%s@db.example.com:5432/runs", "", punctuation, 16},
	{"redis://:%s@cache:6379/0", "", lettersAndDigits, 20},
	{"mlflow: MLFLOW_TRACKING_PASSWORD=%s", "", punctuation, 14},
	{"db_pass: '%s'", "", punctuation, 12},
	{"mysql --user root --password %s", "", lettersAndDigits, 12},
	{"machine git.example.com login bot password %s", "", punctuation, 12},
	{`{"auths": {"quay.io": {"auth": "%s"}}}`, "", base64Digits, 32},
	{"OPENAI_API_KEY='%s'", "sk-", urlSafe, 48},
	{"openai.AuthenticationError: Incorrect API key provided: %s", "sk-", urlSafe, 48},
	{"slack: posting with %s", "xoxb-", upperAndDigits, 40},
	{"POST https://hooks.slack.com/services/%s", "", upperAndDigits + "/", 40},
	{"//npm.example.com/:_authToken=%s", "npm_", lettersAndDigits, 36},
	{"twine upload -u __token__ -p %s", "pypi-", urlSafe, 80},
	{"NGC_API_KEY is %s", "nvapi-", urlSafe, 60},
	{"docker login -u acme -p %s", "dckr_pat_", urlSafe, 27},
	{"Set-Cookie: session=%s; HttpOnly", "", hexDigits, 32},
	{"--client-secret %s --tenant acme", "", punctuation, 34},
	{"sendgrid %s rejected", "SG." + "abcdefghijklmnopqrstuv.", urlSafe, 43},
	{"-----BEGIN OPENSSH PRIVATE KEY-----\n%s\n-----END OPENSSH PRIVATE KEY-----", "", base64Digits, 70},
	{"remote: Invalid credentials %s", "github_pat_", lettersAndDigits, 60},
}

// TestSecretsAreReplaced tests each line in secretKinds in five formats of log lines, such as lines with a
// timestamp. After the replacement, a line must not contain eight consecutive characters of its secret,
// apart from the secret's prefix.
func TestSecretsAreReplaced(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	decorations := []string{"%s", "2026-11-27T10:00:00Z stderr F %s", "\x1b[31m%s\x1b[0m", "[1,3]<stderr>:%s", "INFO trainer.py:12 - %s (step 3)"}
	checked := 0
	for _, kind := range secretKinds {
		for _, decoration := range decorations {
			var secret strings.Builder
			secret.WriteString(kind.prefix)
			for range kind.length {
				secret.WriteByte(kind.alphabet[random.IntN(len(kind.alphabet))])
			}
			line := fmt.Sprintf(decoration, strings.Replace(kind.line, "%s", secret.String(), 1))
			for name, got := range map[string]string{"Text": Text(line), "Line": Line(line, 300)} {
				if part := remaining(got, secret.String()[len(kind.prefix):]); part != "" {
					t.Errorf("%s(%q) = %q, which contains %q", name, line, got, part)
				}
			}
			checked++
		}
	}
	if checked != 205 {
		t.Errorf("%d secrets were checked, want 205", checked)
	}
}

func remaining(text, secret string) string {
	const length = 8
	for i := 0; i+length <= len(secret); i++ {
		if part := secret[i : i+length]; strings.Contains(text, part) {
			return part
		}
	}
	return ""
}

// TestSecretsInUnusualPlacesAreReplaced: in each test case, the secret is the text between << and >>.
func TestSecretsInUnusualPlacesAreReplaced(t *testing.T) {
	for _, marked := range []string{
		`{"name":"WANDB_API_KEY","value":"<<0123456789abcdef>>"}`,
		"- name: X_TOKEN\n  value: <<abc123def456>>",
		`{Name:DB_PASSWORD Value:<<hunter2hunter2>>}`,
		`['--hf_token', '<<abc123def456>>']`, `"--password", "<<hunter2hunter2>>"`, `('HF_PASSWORD', '<<hunter2hunter2>>')`,
		`<name>fs.s3a.secret.key</name><value><<abc123def456>></value>`,
		`password=b'<<hunter2hunter2>>'`, `token=['<<abc123def456>>']`, `{"Authorization":["token <<0123456789abcdef>>"]}`,
		`DB_PASSWORD="<<it's-hunter2hunter2>>"`, `password="<<ab\"hunter2hunter2>>"`, `DB_PASSWORD=<<ab"hunter2hunter2>>`, `--password '<<correct horse battery>>'`,
		`client-key-data: <<LS0tLS1CRUdJTiBSU0EgUFJJVkFURSBLRVkt>>`, `tls.key: <<LS0tabcdefghijklmnop>>`, `.dockerconfigjson: <<eyJhdXRocyI6eyJxdWF5LmlvIjp7>>`,
		`cmd\n<<hf_abcdefghijklmnopqrstuv>>`, `x%3D<<ghp_abcdefghijklmnopqrstuvwxyz0123456789>>`, `send: b'GET /\r\nAuthorization: token <<0123456789abcdef>>\r\n'`,
		`https://b.example.com/a?x=1\u0026X-Amz-Signature=<<0123456789abcdef>>`, `https://b.example.com/a?x=1&amp;sig=<<abc123def456>>`, `password%3D<<hunter2hunter2>>`, `PASSWORD\u003d<<hunter2hunter2>>`,
		`"{\\\"token\\\": \\\"<<abc123def456>>\\\"}"`,
		`API key: <<abc123def456>>`, `Secret access key: <<abc123def456>>`, `KAGGLE_KEY=<<abc123def456>>`, `AZURE_STORAGE_KEY=<<abc123def456>>`, `Ocp-Apim-Subscription-Key: <<abc123def456>>`,
		`fs.azure.account.key.acme.dfs.core.windows.net=<<abc123def456>>`, `MYSQL_PWD=<<hunter2hunter2>>`, `DBPASS=<<hunter2hunter2>>`, `HF_TOKEN_2=<<abc123def456>>`, `API_KEY1=<<abc123def456>>`,
		`DB_PASSWORD=<<8675309421>>`, `DB_PASSWORD='<<$ecretHunter2>>'`,
		`+ wandb login <<0123456789abcdef>>`, `docker login -u x -p <<hunter2hunter2>> quay.io`, `curl -u user:<<hunter2hunter2>> https://a.example.com`, `sshpass -p <<hunter2hunter2>> ssh a`, `postgresql://u:<<ab/cdefghijk>>@db/runs`,
		"password: |\n  <<hunter2hunter2>>", "token:\n  - <<hunter2hunter2>>",
		"[1,0]<stderr>:-----BEGIN PRIVATE KEY-----\n[1,0]<stderr>:<<MIIEowIBAAKCAQEAx7abcdefghij>>\n[1,0]<stderr>:-----END PRIVATE KEY-----",
	} {
		before, rest, _ := strings.Cut(marked, "<<")
		secret, after, _ := strings.Cut(rest, ">>")
		if got := Text(before + secret + after); remaining(got, secret) != "" {
			t.Errorf("%q becomes %q", marked, got)
		}
	}
}

func TestHarmlessTextStays(t *testing.T) {
	for _, text := range []string{
		"epoch 3: loss=0.123, tokens_per_second=15231.2, max_tokens: 2048, token=512",
		"tokenizer=bert-base-uncased, num_tokens: 1e6",
		`Error: secret "hf-token" not found`,
		`MountVolume.SetUp failed for volume "mpi-ssh-auth" : secret "bert-mpi-ssh-auth" not found`,
		`MountVolume.SetUp failed for volume "hf-token" : secret "hf-token" not found`,
		"HF_TOKEN=None, WANDB_API_KEY: <unset>, PASSWORD=$DB_PASSWORD",
		"basic authentication is not supported by this server",
		"Permission denied (publickey,password).",
		"commit 9fceb02d0ae598e95dc970b74767f19372d61af8",
		"image quay.io/acme/train@sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef",
		"ssh://git@example.com/acme.git",
		"http://bert-node-0-1.bert:29500/rendezvous",
		"forward pass: 0.21 s, backward pass: 0.4 s",
		"Load key \"/home/mpiuser/.ssh/id_rsa\": Permission denied",
		"key=value pairs: batch_key=train, api version: v1",
		`failed to fetch oauth token: Post "https://auth.example.com/token": dial tcp: lookup auth.example.com`,
		"failed to fetch anonymous token: unexpected status: 403 Forbidden",
		"Error: authorization: permission denied for all users",
		"cookie: none, status 500: out of memory",
		"invalid token:\nTraceback (most recent call last):",
		"cls_token: [CLS], sep_token: [SEP]",
		"loading hf_deepspeed_config from /etc/config",
		"GOOGLE_APPLICATION_CREDENTIALS=/var/run/secrets/google/key.json",
		`{"url":"http://a:80","mail":"x@y.com"}`,
		"GET http://a.example.com:8080/users/x@y.com",
	} {
		if got := Text(text); got != text {
			t.Errorf("Text(%q) = %q", text, got)
		}
	}
}

// TestSecretsInSeveralLines checks that private keys of many lines are replaced, even if the beginning or the end of the key
// is missing.
func TestSecretsInSeveralLines(t *testing.T) {
	const begin, end = "-----BEGIN RSA PRIVATE KEY-----\n", "-----END RSA PRIVATE KEY-----\n"
	body := strings.Repeat("MIIEowIBAAKCAQEAx7abcdefghij\n", 20)
	for name, text := range map[string]string{"whole": begin + body + end, "without end": begin + body, "without beginning": body + end} {
		got := Text("before:\n" + text)
		if !strings.HasPrefix(got, "before:\n"+mark) || strings.Contains(got, "MIIE") {
			t.Errorf("%s: %q", name, got)
		}
	}
}

// TestControlSequencesAreRemoved checks that control sequences are removed, and that a control sequence inside a secret
// does not hide the secret.
func TestControlSequencesAreRemoved(t *testing.T) {
	for text, want := range map[string]string{
		"a\x1b[2J\x1b]0;title\x07b\r\nc":             "ab\nc",
		"HF_TOKEN=hf_\x1b[31mabcdefghijklmnopqrstuv": "HF_TOKEN=" + mark,
		"\u202eevil": "�evil",
	} {
		if got := Text(text); got != want {
			t.Errorf("Text(%q) = %q, want %q", text, got, want)
		}
	}
	if got := Line("a\nb  password=hunter2hunter2", 20); got != "a b  password=[secre…" {
		t.Errorf("Line() = %q", got)
	}
}

func TestSanitizingTwiceChangesNothing(t *testing.T) {
	for _, kind := range secretKinds {
		once := Text(fmt.Sprintf(kind.line, kind.prefix+strings.Repeat("Ab1", 20)))
		if twice := Text(once); twice != once {
			t.Errorf("Text(%q) = %q", once, twice)
		}
	}
}
