package reports

import (
	"crypto/sha256"
	"encoding/hex"
	"io"
	"net/url"
	"path/filepath"
	"slices"
	"strings"

	"github.com/trainyard/trainyard/generator/problem"
)

// SARIF 2.1.0, with what GitHub code scanning asks for.
// Source: docs.oasis-open.org/sarif/sarif/v2.1.0; docs.github.com, SARIF support for code scanning.
var sarif = Format{
	Name: "sarif",
	Doc:  "SARIF 2.1.0, for code scanning",
	Write: func(w io.Writer, r Report) error {
		return writeJSON(w, sarifLog{
			Schema:  "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json",
			Version: "2.1.0",
			Runs:    []sarifRun{runOf(r)},
		})
	},
}

const project = "https://github.com/trainyard/trainyard"

func runOf(r Report) sarifRun {
	run := sarifRun{
		ColumnKind: "unicodeCodePoints",
		Tool: sarifTool{Driver: sarifDriver{
			Name: "trainyard", Version: r.Version, InformationURI: project, Rules: []sarifRule{},
		}},
		Invocations: []sarifInvocation{{ExitCode: r.ExitCode, ExecutionSuccessful: len(r.Failures) == 0}},
		Results:     []sarifResult{},
	}
	for _, failure := range r.Failures {
		run.Invocations[0].Notifications = append(run.Invocations[0].Notifications, sarifNotification{"error", sarifText{failure}})
	}
	for _, p := range r.Problems {
		run.add("error", p)
	}
	for _, note := range r.Notes {
		run.add("note", note)
	}
	return run
}

// add appends a result, and its rule if it is the first of it.
func (run *sarifRun) add(level string, p problem.Problem) {
	rules := &run.Tool.Driver.Rules
	index := slices.IndexFunc(*rules, func(r sarifRule) bool { return r.ID == p.Rule.Name })
	if index < 0 {
		index = len(*rules)
		doc := sarifText{p.Rule.Doc}
		*rules = append(*rules, sarifRule{
			ID: p.Rule.Name, Short: doc, Full: doc, Help: doc, HelpURI: project + "/blob/main/docs/vetting.md",
		})
	}
	result := sarifResult{
		RuleID: p.Rule.Name, RuleIndex: index, Level: level,
		Message:      sarifText{plain.Replace(p.Message)},
		Locations:    []sarifLocation{{Physical: sarifPhysical{Artifact: sarifArtifact{uri(p.File)}, Region: sarifRegion{p.Line, p.Column}}}},
		Fingerprints: map[string]string{"ruleAndPath/v1": fingerprint(p)},
	}
	if p.Path != "" {
		result.Message.Text = plain.Replace(p.Path + ": " + p.Message)
		result.Locations[0].Logical = []sarifLogical{{p.Path}}
	}
	run.Results = append(run.Results, result)
}

// plain keeps text from being a link: a message may repeat what a document says.
// Source: SARIF 2.1.0, 3.11.6 Messages with embedded links.
var plain = strings.NewReplacer("](", `\](`)

// uri is the address of a file. Standard input has none; its name stands for it.
func uri(file string) string {
	if file == standardInput {
		return escape(file)
	}
	path := located(file)
	if filepath.IsAbs(path) {
		return "file:///" + escape(strings.TrimPrefix(filepath.ToSlash(path), "/"))
	}
	return escape(filepath.ToSlash(path))
}

// escape writes a path for a URI. A colon in its first part would make a scheme.
func escape(path string) string {
	return strings.ReplaceAll((&url.URL{Path: path}).EscapedPath(), ":", "%3A")
}

// fingerprint is the same for a mistake whose lines have moved: it hangs on the
// place in the document or, for a mistake in the text itself, on what it is.
func fingerprint(p problem.Problem) string {
	place := p.Path
	if place == "" {
		place = p.Message
	}
	sum := sha256.Sum256([]byte(p.Rule.Name + "\x00" + place))
	return hex.EncodeToString(sum[:16])
}
