package sanitize

import (
	"regexp"
	"slices"
	"strings"
	"sync"
)

// secret defines how to recognize one kind of secret. The replacement of a harmless word does little harm, so the
// expressions in this package may also match some texts that are not secrets. By contrast, scanners for repositories,
// such as gitleaks, report only texts that are very probably secrets.
type secret struct {
	// The field "hints" lists texts in lower case. Each match of the expression must contain at least one of these
	// texts, in any mix of upper and lower case. The function mayContain searches a text for the hints, because this
	// search is many times faster than matching the expression.
	hints []string
	// expression is a regular expression that matches the secret. If the expression has groups whose names begin with
	// "value", only the text of these groups is replaced.
	expression *regexp.Regexp
	// isHarmless reports whether a value is not a secret, for example because it is a number. If isHarmless is nil,
	// every value that the expression matches is a secret.
	isHarmless func(value string) bool
}

// The following expressions match the names of settings and flags whose values are secrets. The value of "HF_TOKEN"
// is a secret, because the name ends with "token". The values of "tokenizer" and "max_tokens" are not secrets,
// because these names do not end with "token".
const (
	passwordNames   = `(?:pass(?:word|wd|phrase|code)|[_-]pass|dbpass|[_-]pwd|secret|(?:api|access|secret|private|account|signing|encryption|storage|subscription|kaggle|openai|auth)[ _.-]?key(?:[ _.-]?id)?|account\.key\.[\w.]+|shared[_.-]?access[_.-]?signature|connection[_.-]?string|client-key-data|tls\.key|dockerconfigjson)`
	tokenNames      = `token`
	credentialNames = `credentials?`
)

// The following constants are parts of the regular expressions that find secrets.
const (
	// separator matches the characters between a name and its value in JSON, YAML, shells, URLs and
	// programs.
	separator = `(?:[_-]?\d+)?\\*["']?[ \t]*(?:=>|:=|[:=]|%3[dDaA]|\\u003[dDaA])[ \t]*`
	// value matches what comes after the separator: one word, or a text in quotes. A quoted text can contain escaped
	// quotes. Letters can come directly before the first quote, as in Python (b'...').
	value = `(?:[\[({][ \t]*)?(?:[brufBRUF]{0,2}\\*"(?P<value1>(?:[^"\\\n]|\\.)+)|[brufBRUF]{0,2}\\*'(?P<value2>(?:[^'\\\n]|\\.)+)|(?P<value3>[^\s"'\[({]\S*|[\[({][^\s"']\S*))`
	// edge matches what can come directly before a token with a known prefix, such as "ghp_". A match is the start of
	// the text, or a character that is neither a letter nor a digit. A match can also be an escape such as \n, or a
	// percent-encoded character such as %3D.
	edge = `(?:^|[^A-Za-z0-9]|\\[nrt]|%[0-9A-Fa-f]{2})`
	// linePrefix matches the text between two lines of a private key: line breaks, and the prefix that mpirun writes
	// before each line, such as "[1,3]<stderr>:".
	linePrefix = `(?:\\n|\s|\[[^\]\s]*\](?:<\w+>)?:?)*`
)

// secrets returns the list of all kinds of secrets. The program compiles the
// regular expressions when the function secrets is called for the first time.
var secrets = sync.OnceValue(func() []secret {
	of := func(expression string, isHarmless func(string) bool, hints ...string) secret {
		return secret{hints, regexp.MustCompile(expression), isHarmless}
	}
	named := []string{"pass", "pwd", "secret", "token", "key", "credential", "signature", "connection", "dockerconfigjson"}
	all := []secret{
		of(`(?s)-----BEGIN [A-Z ]*PRIVATE KEY(?: BLOCK)?-----.*?-----END [A-Z ]*PRIVATE KEY(?: BLOCK)?-----`, nil, "private key"),
		// The next two expressions match a private key whose end or beginning is missing, for
		// example because a program shows only the last lines of a log.
		of(`-----BEGIN [A-Z ]*PRIVATE KEY(?: BLOCK)?-----(?:`+linePrefix+`[A-Za-z0-9+/=]{16,})*`, nil, "private key"),
		of(`(?:[A-Za-z0-9+/=]{4,}`+linePrefix+`)+-----END [A-Z ]*PRIVATE KEY(?: BLOCK)?-----`, nil, "private key"),
		of(`LS0tLS1CRUdJTi[\w+/=]+|eyJhdXRo[\w+/=]+`, nil, "ls0tls1crudjti", "eyjhdxro"), // a key or a registry's login in base64
		// The two expressions below match the secrets in URLs such as https://user:password@host
		// and https://token@host.
		of(`[a-zA-Z][a-zA-Z0-9+.-]*://[^\s/:@"']*:(?P<value>[^\s"']+)@`, isPort, "://"),
		of(`[a-zA-Z][a-zA-Z0-9+.-]*://(?P<value>[^\s/:@"']{16,})@`, nil, "://"),
		of(`(?i)authorization\\*["']?[ \t]*[:=][ \t]*\[?\\*["']?(?:bearer|basic|token|digest|negotiate|apikey|aws4-hmac-sha256)[ \t]+(?P<value>[^"'\n\\]+)`, nil, "authorization"),
		of(`(?i)authorization\\*["']?[ \t]*[:=][ \t]*\[?\\*["']?(?P<value>[^\s"'\\]{8,})`, isWord, "authorization"),
		of(`(?i)\b(?:bearer|basic)[ \t]+(?P<value>[\w.~+/=-]{8,})`, isWord, "bearer", "basic"),
		of(`(?i)cookie\\*["']?[ \t]*[:=][ \t]*["']?(?P<value>[^\s=;"']+=[^"'\n\\]+)`, nil, "cookie"),
		of(`(?i)(?:[?&;]|\\u0026)(?:sig|signature|x-amz-(?:signature|credential|security-token)|x-goog-(?:signature|credential)|code|key|auth|sas|sv)=(?P<value>[^\s&"'<>\\]+)`, nil, "?", "&", ";", "u0026"),
	}
	for _, kind := range []struct {
		names      string
		isHarmless func(string) bool
	}{{passwordNames, isNoValue}, {tokenNames, isNoToken}, {credentialNames, isNoCredential}} {
		names, isHarmless := kind.names, kind.isHarmless
		all = append(
			all,
			of(`(?i)`+names+separator+value, isHarmless, named...),
			// The three expressions below match a name and its value. The first expression is for lists, and for
			// Kubernetes objects in JSON. The second expression is for Kubernetes objects in YAML, and for printed
			// structures of Go. The third expression is for XML.
			of(`(?i)`+names+`(?:[_-]?\d+)?\\*["'][ \t]*,\s*(?:\\*["']?value\\*["']?[ \t]*[:=][ \t]*)?\\*["'](?P<value>[^"'\n]+)`, isHarmless, named...),
			of(`(?i)name:[ \t]*["']?[\w.-]*`+names+`(?:[_-]?\d+)?["']?\s+value:[ \t]*["']?(?P<value>[^\s"'}]+)`, isHarmless, named...),
			of(`(?i)`+names+`</name>\s*<value>(?P<value>[^<]+)`, isHarmless, named...),
			// The next regular expression is for YAML. It matches a value on the line below the name of the value.
			of(`(?i)`+names+`["']?:[ \t]*[|>]?[+-]?[ \t]*\n[ \t]+(?:- )?["']?(?P<value>[^\s"']+)`, isHarmless, named...),
			of(`(?i)(?:^|[^\w-])--?[\w-]*`+names+`[ \t]+(?:"(?P<value1>[^"\n]+)|'(?P<value2>[^'\n]+)|(?P<value3>[^\s"'-]\S*))`, isHarmless, named...),
		)
	}
	return append(
		all,
		of(`(?i)\b(?:wandb login|sshpass -p|(?:docker|podman|skopeo|helm|oras)\b.*\blogin\b.*[ \t](?:-p|--pass(?:word)?)|curl\b.*[ \t](?:-u|--user)[ \t]*\S+?:|--pass)[ \t]*(?P<value>\S+)`, nil, "login", "sshpass", "curl", "--pass"),
		of(`(?i)\blogin\s+\S+\s+password\s+(?P<value>\S+)`, nil, "password"),
		of(`(?i)"auth"\s*:\s*"(?P<value>[^"]+)"`, nil, `"auth"`),
		of(edge+`(?P<value>eyJ[\w-]{8,}\.[\w-]{8,}(?:\.[\w-]*){0,3})`, nil, "eyj"),
		of(edge+`(?P<value>(?:AKIA|ASIA|ABIA|ACCA)[A-Z0-9]{16})`, nil, "akia", "asia", "abia", "acca"),
		of(edge+`(?P<value>(?:gh[pousr]_|github_pat_|glpat-|gldt-|api_org_|sk-|sk_live_|rk_live_|sk_test_|xox[abeoprs]-|npm_|pypi-|dckr_pat_|dop_v1_|nvapi-|r8_|shpat_|lin_api_|pat-|ATATT)[\w-]{16,})`, nil,
			"gh", "github_pat_", "gl", "api_org_", "sk", "rk_", "xox", "npm_", "pypi-", "dckr", "dop_", "nvapi", "r8_", "shpat", "lin_", "pat-", "atatt"),
		of(edge+`(?P<value>hf_[A-Za-z0-9]{20,})`, nil, "hf_"),
		of(edge+`(?P<value>AIza[\w-]{35}|ya29\.[\w-]{20,}|GOCSPX-[\w-]{20,})`, nil, "aiza", "ya29", "gocspx"),
		of(`sha256~(?P<value>[\w-]{20,})`, nil, "sha256~"), // tokens of OpenShift
		of(edge+`(?P<value>SG\.[\w-]{16,}\.[\w-]{16,})`, nil, "sg."),
		of(`https://hooks\.slack\.com/services/(?P<value>\S+)`, nil, "hooks.slack"),
	)
})

// mayContain reports whether a text can contain a secret of this kind. The argument "lower" is the text in
// lower case.
func (s secret) mayContain(lower string) bool {
	return slices.ContainsFunc(s.hints, func(hint string) bool { return strings.Contains(lower, hint) })
}

// replace returns the text with a mark in place of each secret of this kind.
func (s secret) replace(text string) string {
	var out strings.Builder
	end := 0
	for _, m := range s.expression.FindAllStringSubmatchIndex(text, -1) {
		from, to := s.valueIn(m)
		if value := text[from:to]; strings.HasPrefix(value, mark) || s.isHarmless != nil && s.isHarmless(value) {
			continue
		}
		out.WriteString(text[end:from])
		out.WriteString(mark)
		end = to
	}
	out.WriteString(text[end:])
	return out.String()
}

// valueIn returns the position of the secret in a match. The secret is the text of the first group that matched and
// whose name begins with "value". If there is no such group, the secret is the whole match.
func (s secret) valueIn(match []int) (from, to int) {
	for i, name := range s.expression.SubexpNames() {
		if strings.HasPrefix(name, "value") && match[2*i] >= 0 {
			return match[2*i], match[2*i+1]
		}
	}
	return match[0], match[1]
}

var (
	noValue = regexp.MustCompile(`(?i)^(?:true|false|none|null|nil|yes|no|unset|missing|empty|secret|configmap|<[^>]*>|\*+|\.\.\.|[|>][+-]?|(?-i:\$[A-Z_][A-Z0-9_]*)|\$\{[^}]*\})$`)
	number  = regexp.MustCompile(`(?i)^[-+]?[\d.,_]+(?:e[-+]?\d+)?%?$`)
	word    = regexp.MustCompile(`^(?:[a-zA-Z]+|\[[A-Z]+\]?)$`)
	path    = regexp.MustCompile(`^\.{0,2}/[\w./-]+$`)
	port    = regexp.MustCompile(`^\d{1,5}/`)
)

// trim removes punctuation after a value.
func trim(value string) string { return strings.TrimRight(value, `,;&.)]}:\`) }

// isNoValue reports whether a text is obviously not a secret. Examples are the masked value "***", the
// reference "$TOKEN", and the word "None".
func isNoValue(value string) bool { return noValue.MatchString(trim(value)) }

// isNoToken returns true if the text after the word "token" is harmless, because it is not a secret token. For example,
// in a log, this text can be a count such as 512, or an ordinary word of a sentence.
func isNoToken(value string) bool {
	value = trim(value)
	return noValue.MatchString(value) || number.MatchString(value) || word.MatchString(value)
}

// isNoCredential reports whether the text after the word "credentials" is not a secret. For example, the text after
// "credentials" can be the path of a file that contains the credentials.
func isNoCredential(value string) bool {
	value = trim(value)
	return noValue.MatchString(value) || word.MatchString(value) || path.MatchString(value)
}

// isWord reports whether the text after a word such as "basic" is an ordinary word and not a secret. For example,
// "authentication" in "basic authentication" is an ordinary word.
func isWord(value string) bool { return word.MatchString(trim(value)) }

// isPort reports whether a text begins with a port number and a slash. The text is a part of a URL: it begins after the
// first colon that follows "://", and ends before the last "@". For example, this part of the URL
// "http://a.example.com:8080/users/x@y.com" is "8080/users/x". This part is not a password, but a port and a path.
func isPort(value string) bool { return port.MatchString(value) }
