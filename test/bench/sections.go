package bench

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"time"
)

// section is a part of a report, for people.
type section struct {
	title  string
	words  []string
	header []string
	rows   [][]string
}

// sections are the report in the order in which it is read.
func (r *Report) sections() []section {
	all := []section{r.setting(), r.aims(), r.comparison(), r.overhead()}
	all = append(all, r.cases(), r.growth(), r.folders())
	return slices.DeleteFunc(all, func(s section) bool { return len(s.words) == 0 && len(s.rows) == 0 })
}

func (r *Report) setting() section {
	var names []string
	for _, name := range slices.Sorted(maps.Keys(r.Versions)) {
		names = append(names, name+" "+r.Versions[name])
	}
	m := r.Machine
	return section{title: "Where and when", words: []string{
		fmt.Sprintf("%s, %d rounds.", r.Date, r.Rounds),
		fmt.Sprintf("%s, %d cores, %s, %s, %s.", m.CPU, m.Cores, m.Memory, m.System, m.FileSystem),
		strings.Join(names, ", ") + ".",
		fmt.Sprintf("Load before the first round and after each: %s.", strings.Join(r.Load, ", ")),
	}}
}

// aims holds the figures against what we want them to be.
func (r *Report) aims() section {
	s := section{title: "What we aim for", header: []string{"figure", "aim", "measured", ""}}
	add := func(what, aim, measured string, met bool) {
		s.rows = append(s.rows, []string{what, aim, measured, map[bool]string{true: "met", false: "missed"}[met]})
	}
	if w, ok := r.find(casePlain); ok {
		add("CPU per object of W", "at most 0.45 ms", fmt.Sprintf("%.2f ms", w.PerObject()), w.PerObject() <= 0.45)
		add("memory for W", "at most 120 MB", megabytes(w.RSS.Median), w.RSS.Median <= 120e6)
	}
	if t, ok := r.find(caseTenant); ok {
		add("CPU for one tenant of one environment", "at most 300 ms", duration(t.CPU.Median), t.CPU.Median <= 300*time.Millisecond)
	}
	if v, ok := r.find(caseVersion); ok {
		add("CPU for `trainyard version`", "at most 20 ms", duration(v.CPU.Median), v.CPU.Median <= 20*time.Millisecond)
	}
	for _, e := range r.Exponents() {
		worst := max(e.Whole, e.WithoutStart)
		add("exponent, "+e.What, "at most 1.1", fmt.Sprintf("%.2f", worst), worst <= 1.1)
	}
	for _, ratio := range r.Ratios() {
		if ratio.Best {
			add("ratio to kustomize in its better shape", "at least 25", times(ratio.Times), ratio.Times >= 25)
		}
	}
	return s
}

func (r *Report) comparison() section {
	s := section{title: "Beside other programs", header: []string{"the same objects by", "CPU, times that of trainyard"}}
	for _, ratio := range r.Ratios() {
		better := ""
		if ratio.Best {
			better = " (its better shape)"
		}
		s.rows = append(s.rows, []string{ratio.What, times(ratio.Times) + better})
	}
	return s
}

func (r *Report) cases() section {
	s := section{title: "All cases", header: []string{"case", "objects", "CPU", "lowest–highest", "per object", "by the clock", "memory"}}
	for _, c := range r.Results {
		objects, each := "", ""
		if c.Objects > 0 {
			objects, each = fmt.Sprint(c.Objects), fmt.Sprintf("%.3g ms", c.PerObject())
		}
		s.rows = append(s.rows, []string{
			c.What, objects, duration(c.CPU.Median), between(c.CPU), each, duration(c.Wall.Median), megabytes(c.RSS.Median),
		})
	}
	return s
}

func (r *Report) growth() section {
	s := section{title: "How it grows", header: []string{"series", "exponent", "without what `examples/minimal` takes"}}
	for _, e := range r.Exponents() {
		s.rows = append(s.rows, []string{e.What, fmt.Sprintf("%.2f", e.Whole), fmt.Sprintf("%.2f", e.WithoutStart)})
	}
	return s
}

func (r *Report) folders() section {
	s := section{title: "The writer by itself", header: []string{"3,000 files of 4 KB in a folder", "by the clock", "lowest–highest"}}
	for _, w := range r.Writer {
		s.rows = append(s.rows, []string{w.What, duration(w.Wall.Median), between(w.Wall)})
	}
	return s
}

func between(s Spread[time.Duration]) string { return duration(s.Min) + "–" + duration(s.Max) }

// duration writes a time with as many digits as can be believed.
func duration(d time.Duration) string {
	if d < 100*time.Millisecond {
		return fmt.Sprintf("%.1f ms", milliseconds(d))
	}
	if d < time.Second {
		return fmt.Sprintf("%.0f ms", milliseconds(d))
	}
	return fmt.Sprintf("%.2f s", d.Seconds())
}

// megabytes writes an amount of memory; unknown is a dash.
func megabytes(n int64) string {
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
