package bench

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"
	"text/tabwriter"
)

// WriteText writes the report as text for a terminal.
func (r *Report) WriteText(w io.Writer) error { return writeText(w, r.listSections()) }

func writeText(w io.Writer, sections []section) error {
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for _, s := range sections {
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
func (r *Report) Markdown() string { return markdown(r.listSections()) }

func markdown(sections []section) string {
	var b strings.Builder
	for _, s := range sections {
		fmt.Fprintf(&b, "\n### %s\n\n", s.title)
		for _, line := range s.lines {
			fmt.Fprintf(&b, "* %s\n", line)
		}
		if s.header == nil {
			continue
		}
		if len(s.lines) > 0 {
			b.WriteString("\n")
		}
		fmt.Fprintf(&b, "| %s |\n|%s\n", strings.Join(s.header, " | "), strings.Repeat("---|", len(s.header)))
		for _, row := range s.rows {
			fmt.Fprintf(&b, "| %s |\n", strings.Join(row, " | "))
		}
	}
	return b.String() + "\n"
}

// enclosure contains two comments of a Markdown file: the comment before the measured figures, and
// the comment after the measured figures.
type enclosure struct{ begin, end string }

var (
	ownFigures  = enclosure{"<!-- Figures: begin. Written by `make bench-docs`. -->\n", "<!-- Figures: end. -->\n"}
	mpiFigures  = enclosure{"<!-- MPI: begin. Written by `make bench-mpi-docs`. -->\n", "<!-- MPI: end. -->\n"}
	ruleFigures = enclosure{"<!-- Rules: begin. Written by `make bench-rules-docs`. -->\n", "<!-- Rules: end. -->\n"}
)

// UpdateDocs writes the report to a Markdown file, in place of the previous report of the same type. The rest of the
// file does not change.
func (r *Report) UpdateDocs(file string) error { return ownFigures.update(file, r.Markdown()) }

// update writes the given figures into a Markdown file, between the two comments that enclose the
// figures.
func (e enclosure) update(file, figures string) error {
	text, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	replaced, err := e.replace(string(text), figures)
	if err != nil {
		return fmt.Errorf("%s: %w", file, err)
	}
	return os.WriteFile(file, []byte(replaced), 0o644)
}

func (e enclosure) replace(text, figures string) (string, error) {
	above, rest, begins := strings.Cut(text, e.begin)
	_, below, ends := strings.Cut(rest, e.end)
	if !begins || !ends {
		return "", fmt.Errorf("want the comments %q and %q around the figures", strings.TrimSpace(e.begin), strings.TrimSpace(e.end))
	}
	return above + e.begin + figures + e.end + below, nil
}
