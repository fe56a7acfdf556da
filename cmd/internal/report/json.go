package report

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"io"
	"slices"

	"github.com/trainyard/trainyard/api/v1alpha1"
	"github.com/trainyard/trainyard/generator/problem"
)

// Schema is the JSON Schema of reports in the format "json".
//
//go:embed report.schema.json
var Schema string

var asJSON = Format{
	Name: "json",
	Doc:  "for programs; vet --report-schema prints the JSON Schema",
	Write: func(w io.Writer, r Report) error {
		return writeJSON(w, document{
			APIVersion: v1alpha1.APIVersion,
			Kind:       "Report",
			Version:    r.Version,
			ExitCode:   r.ExitCode,
			Problems:   entries("error", r.Problems),
			Notes:      entries("note", r.Notes),
			Needs:      append([]Need{}, r.Needs...),
			Failures:   append([]string{}, r.Failures...),
		})
	},
}

// document is a report that conforms to report.schema.json.
type document struct {
	APIVersion string   `json:"apiVersion"`
	Kind       string   `json:"kind"`
	Version    string   `json:"version"`
	ExitCode   int      `json:"exitCode"`
	Problems   []entry  `json:"problems"`
	Notes      []entry  `json:"notes"`
	Needs      []Need   `json:"needs"`
	Failures   []string `json:"failures"`
}

type entry struct {
	problem.Position
	Path     string `json:"path"`
	Severity string `json:"severity"`
	Rule     string `json:"rule"`
	Message  string `json:"message"`
}

func entries(severity string, list problem.List) []entry {
	all := slices.Grow([]entry{}, len(list))
	for _, p := range list {
		all = append(all, entry{p.Position, p.Path, severity, p.Rule.Name, p.Message})
	}
	return all
}

func writeJSON(w io.Writer, value any) error {
	var b bytes.Buffer
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	if err := encoder.Encode(value); err != nil {
		return err
	}
	return write(w, b.String())
}
