package bench

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"time"
)

// section is a part of the report in text or Markdown: a title, lines of text, and a table.
type section struct {
	title  string
	lines  []string
	header []string
	rows   [][]string
}

// listSections returns the sections of the report in reading order.
func (r *Report) listSections() []section {
	all := []section{r.setting(), r.compareWithTargets(), r.comparison(), r.compareOverhead()}
	all = append(all, r.cases(), r.growth(), r.folders())
	return slices.DeleteFunc(all, func(s section) bool { return len(s.lines) == 0 && len(s.rows) == 0 })
}

func (r *Report) setting() section {
	var names []string
	for _, name := range slices.Sorted(maps.Keys(r.Versions)) {
		names = append(names, name+" "+r.Versions[name])
	}
	m := r.Machine
	return section{title: "Machine and versions", lines: []string{
		fmt.Sprintf("%s, %d rounds.", r.Date, r.Rounds),
		fmt.Sprintf("%s, %d cores, %s, %s, %s.", m.CPU, m.Cores, m.Memory, m.System, m.FileSystem),
		strings.Join(names, ", ") + ".",
		fmt.Sprintf("Load average of the machine, measured before the first round and after each round: %s.", strings.Join(r.Load, ", ")),
	}}
}

// compareWithTargets compares the measured figures with the speed targets.
func (r *Report) compareWithTargets() section {
	s := section{title: "Targets", header: []string{"figure", "target", "measured", ""}}
	add := func(title, target, measured string, met bool) {
		s.rows = append(s.rows, []string{title, target, measured, map[bool]string{true: "met", false: "missed"}[met]})
	}
	if w, ok := r.findResult(casePlain); ok {
		add("CPU per object of W", "at most 0.45 ms", fmt.Sprintf("%.2f ms", w.PerObject()), w.PerObject() <= 0.45)
		add("memory for W", "at most 120 MB", formatMegabytes(w.RSS.Median), w.RSS.Median <= 120e6)
	}
	if t, ok := r.findResult(caseTenant); ok {
		add("CPU for one tenant of one environment", "at most 300 ms", formatDuration(t.CPU.Median), t.CPU.Median <= 300*time.Millisecond)
	}
	if v, ok := r.findResult(caseVersion); ok {
		add("CPU for `trainyard version`", "at most 20 ms", formatDuration(v.CPU.Median), v.CPU.Median <= 20*time.Millisecond)
	}
	own, measured := r.findResult(caseAcme)
	if other, ok := r.findResult(caseAcmeKustomize); ok && measured {
		ratio := float64(own.CPU.Median) / float64(other.CPU.Median)
		add("CPU for one environment of `examples/acme`, divided by the CPU of `kustomize build`", "at most 1", fmt.Sprintf("%.1f", ratio), ratio <= 1)
	}
	for _, e := range r.Exponents() {
		worst := max(e.Whole, e.WithoutStart)
		add("growth with "+e.Title, "at most 1.1", fmt.Sprintf("%.2f", worst), worst <= 1.1)
	}
	for _, ratio := range r.Ratios() {
		if ratio.Best {
			add("ratio to kustomize in its faster layout", "at least 25", times(ratio.Times), ratio.Times >= 25)
		}
	}
	return s
}

func (r *Report) comparison() section {
	s := section{title: "Other programs", header: []string{"objects generated with", "CPU, as a multiple of trainyard's CPU"}}
	for _, ratio := range r.Ratios() {
		better := ""
		if ratio.Best {
			better = " (its faster layout)"
		}
		s.rows = append(s.rows, []string{ratio.Title, times(ratio.Times) + better})
	}
	return s
}

func (r *Report) cases() section {
	s := section{title: "All cases", header: []string{"case", "objects", "CPU", "lowest–highest", "per object", "elapsed", "memory"}}
	for _, c := range r.Results {
		objects, each := "", ""
		if c.Objects > 0 {
			objects, each = fmt.Sprint(c.Objects), fmt.Sprintf("%.3g ms", c.PerObject())
		}
		s.rows = append(s.rows, []string{
			c.Title, objects, formatDuration(c.CPU.Median), spreadText(c.CPU), each, formatDuration(c.Wall.Median), formatMegabytes(c.RSS.Median),
		})
	}
	return s
}

func (r *Report) growth() section {
	s := section{title: "Growth", header: []string{"series", "slope", "without the time of `examples/minimal`"}}
	for _, e := range r.Exponents() {
		s.rows = append(s.rows, []string{e.Title, fmt.Sprintf("%.2f", e.Whole), fmt.Sprintf("%.2f", e.WithoutStart)})
	}
	return s
}

func (r *Report) folders() section {
	s := section{title: "The writer alone", header: []string{"3,000 files of 4 KB in a folder", "elapsed", "lowest–highest"}}
	for _, w := range r.Writer {
		s.rows = append(s.rows, []string{w.Title, formatDuration(w.Wall.Median), spreadText(w.Wall)})
	}
	return s
}

func spreadText(s Spread[time.Duration]) string {
	return formatDuration(s.Min) + "–" + formatDuration(s.Max)
}

// formatDuration formats a time with a unit and a precision that fit its size.
func formatDuration(d time.Duration) string {
	if d < 100*time.Millisecond {
		return fmt.Sprintf("%.1f ms", milliseconds(d))
	}
	if d < time.Second {
		return fmt.Sprintf("%.0f ms", milliseconds(d))
	}
	return fmt.Sprintf("%.2f s", d.Seconds())
}

// formatMegabytes converts an amount of memory in bytes to a text in megabytes. An unknown amount has the value 0, and is
// written as a dash.
func formatMegabytes(n int64) string {
	if n == 0 {
		return "–"
	}
	return fmt.Sprintf("%.0f MB", float64(n)/1e6)
}

func times(n float64) string {
	if n < 10 && !math.IsNaN(n) {
		return fmt.Sprintf("%.1f", n)
	}
	return fmt.Sprintf("%.0f", n)
}
