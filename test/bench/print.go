package bench

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"text/tabwriter"
)

// WriteText writes the report as text for a terminal.
func (r *Report) WriteText(w io.Writer) error {
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for _, s := range r.sections() {
		fmt.Fprintf(table, "\n%s\n", strings.ToUpper(s.title))
		for _, line := range s.lines {
			fmt.Fprintln(table, line)
		}
		if s.header != nil {
			fmt.Fprintln(table, strings.Join(s.header, "\t"))
		}
		for _, row := range s.rows {
			fmt.Fprintln(table, strings.Join(row, "\t"))
		}
		if err := table.Flush(); err != nil {
			return err
		}
	}
	return nil
}

// WriteJSON writes the report as JSON, with times in nanoseconds and memory in bytes.
func (r *Report) WriteJSON(w io.Writer) error {
	encoder := json.NewEncoder(w)
	encoder.SetIndent("", "  ")
	return encoder.Encode(struct {
		*Report
		Ratios    []Ratio    `json:"ratios"`
		Exponents []Exponent `json:"exponents"`
	}{r, r.Ratios(), r.Exponents()})
}

// Markdown returns the report as sections of a Markdown file.
func (r *Report) Markdown() string {
	var b strings.Builder
	for _, s := range r.sections() {
		fmt.Fprintf(&b, "\n### %s\n\n", s.title)
		for _, line := range s.lines {
			fmt.Fprintf(&b, "* %s\n", line)
		}
		if s.header == nil {
			continue
		}
		fmt.Fprintf(&b, "| %s |\n|%s\n", strings.Join(s.header, " | "), strings.Repeat("---|", len(s.header)))
		for _, row := range s.rows {
			fmt.Fprintf(&b, "| %s |\n", strings.Join(row, " | "))
		}
	}
	return b.String() + "\n"
}

// Comments that enclose the figures in a Markdown file.
const (
	figuresBegin = "<!-- Figures: begin. Written by `make bench-docs`. -->\n"
	figuresEnd   = "<!-- Figures: end. -->\n"
)

// UpdateDocs replaces the figures in a Markdown file with the figures of the report.
func (r *Report) UpdateDocs(file string) error {
	text, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	replaced, err := replaceFigures(string(text), r.Markdown())
	if err != nil {
		return fmt.Errorf("%s: %w", file, err)
	}
	return os.WriteFile(file, []byte(replaced), 0o644)
}

func replaceFigures(text, figures string) (string, error) {
	above, rest, begins := strings.Cut(text, figuresBegin)
	_, below, ends := strings.Cut(rest, figuresEnd)
	if !begins || !ends {
		return "", errors.New("the comments that enclose the figures are missing")
	}
	return above + figuresBegin + figures + figuresEnd + below, nil
}
