package report

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"io"
	"net/url"
	"path/filepath"
	"strings"

	"github.com/trainyard/trainyard/generator/problem"
)

// sarif writes SARIF 2.1.0, with the properties that GitHub code scanning requires. The library go-sarif is not used,
// because it writes empty properties, and because its JSON Schema validator would be compiled into the program.
// Source: docs.oasis-open.org/sarif/sarif/v2.1.0; docs.github.com, SARIF support for code scanning.
var sarif = Format{
	Name: "sarif",
	Doc:  "SARIF 2.1.0, for code scanning",
	Write: func(w io.Writer, r Report) error {
		return writeJSON(w, properties{
			"$schema": "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json",
			"version": "2.1.0",
			"runs":    []properties{sarifRun(r)},
		})
	},
}

type properties map[string]any

func sarifText(text string) properties { return properties{"text": text} }

const project = "https://github.com/trainyard/trainyard"

func sarifRun(r Report) properties {
	// executionSuccessful is false if the report contains failures, such as a missing file. If the report contains
	// problems in the input, but no failures, executionSuccessful is true.
	invocation := properties{"executionSuccessful": len(r.Failures) == 0, "exitCode": r.ExitCode}
	var notifications []properties
	for _, failure := range r.Failures {
		notifications = append(notifications, properties{"level": "error", "message": sarifText(failure)})
	}
	if len(notifications) > 0 {
		invocation["toolExecutionNotifications"] = notifications
	}
	rules, results := sarifResults(r)
	return properties{
		"tool":        properties{"driver": properties{"name": "trainyard", "version": r.Version, "informationUri": project, "rules": rules}},
		"columnKind":  "unicodeCodePoints",
		"invocations": []properties{invocation},
		"results":     results,
	}
}

func sarifResults(r Report) (rules, results []properties) {
	rules, results = []properties{}, []properties{}
	index := map[string]int{}
	add := func(level string, list problem.List) {
		for _, p := range list {
			if _, known := index[p.Rule.Name]; !known {
				index[p.Rule.Name] = len(rules)
				rules = append(rules, sarifRule(p.Rule))
			}
			results = append(results, sarifResult(level, index[p.Rule.Name], p))
		}
	}
	add("error", r.Problems)
	add("note", r.Notes)
	return rules, results
}

func sarifRule(rule problem.Rule) properties {
	doc := sarifText(rule.Doc)
	return properties{
		"id": rule.Name, "shortDescription": doc, "fullDescription": doc, "help": doc, "helpUri": project + "/blob/main/docs/vetting.md",
	}
}

func sarifResult(level string, ruleIndex int, p problem.Problem) properties {
	message, location := p.Message, properties{"physicalLocation": properties{
		"artifactLocation": properties{"uri": fileURI(p.File)},
		"region":           properties{"startLine": p.Line, "startColumn": p.Column},
	}}
	if p.Path != "" {
		message = p.Path + ": " + message
		location["logicalLocations"] = []properties{{"fullyQualifiedName": p.Path}}
	}
	return properties{
		"ruleId": p.Rule.Name, "ruleIndex": ruleIndex, "level": level,
		"message":             sarifText(escapeLinks.Replace(message)),
		"locations":           []properties{location},
		"partialFingerprints": map[string]string{"ruleAndPath/v1": computeFingerprint(p)},
	}
}

// escapeLinks escapes text that a viewer of SARIF files would show as a link. Messages can quote such text
// from a document. Source: SARIF 2.1.0, 3.11.6 Messages with embedded links.
var escapeLinks = strings.NewReplacer("](", `\](`)

// fileURI returns the URI of a file, or the escaped name <stdin> for standard input.
func fileURI(file string) string {
	if file == standardInput {
		return escapePath(file)
	}
	path := relativePath(file)
	if filepath.IsAbs(path) {
		return "file:///" + escapePath(strings.TrimPrefix(filepath.ToSlash(path), "/"))
	}
	return escapePath(filepath.ToSlash(path))
}

// escapePath escapes a path for a URI. It also escapes colons, because programs read the text before an unescaped
// colon as the scheme of the URI.
func escapePath(path string) string {
	return strings.ReplaceAll((&url.URL{Path: path}).EscapedPath(), ":", "%3A")
}

// computeFingerprint returns a hash that identifies a problem in later runs, even if the line of the problem has moved.
func computeFingerprint(p problem.Problem) string {
	sum := sha256.Sum256([]byte(p.Rule.Name + "\x00" + cmp.Or(p.Path, p.Message)))
	return hex.EncodeToString(sum[:16])
}
