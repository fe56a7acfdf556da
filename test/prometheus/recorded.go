package prometheus

import (
	"bufio"
	_ "embed"
	"fmt"
	"io"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// recordedSeries contains series of all exporters, for two tenants with running, waiting and failed TrainJobs. The
// series have the labels that each exporter really emits.
//
//go:embed testdata/recorded.txt
var recordedSeries string

// Begin and End are the limits of the time range of the recorded series.
var (
	Begin = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	End   = Begin.Add(95 * time.Minute)
)

// openMetrics writes the recorded series in OpenMetrics format for promtool.
func openMetrics(to io.Writer) error {
	w := bufio.NewWriter(to)
	for line := range strings.Lines(recordedSeries) {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		series, text, found := strings.Cut(line, "} ")
		if !found {
			return fmt.Errorf("reading %q: want a series and values", line)
		}
		all, err := expandValues(text)
		if err != nil {
			return fmt.Errorf("reading %q: %w", line, err)
		}
		for i, value := range all {
			if value != nil {
				fmt.Fprintf(w, "%s} %g %d\n", strings.ReplaceAll(series, "\", ", "\","), *value, Begin.Add(time.Duration(i)*time.Minute).Unix())
			}
		}
	}
	fmt.Fprintln(w, "# EOF")
	return w.Flush()
}

// valueNotation matches one element of the values of a series in promtool's notation. An element
// consists of a value, an optional increment and a count, as in 0+60x90.
var valueNotation = regexp.MustCompile(`^(_|[0-9.]+)(?:\+([0-9.]+))?x([0-9]+)$`)

// expandValues converts the values of a series from promtool's notation to a list of numbers. A
// missing value is nil.
func expandValues(text string) ([]*float64, error) {
	var all []*float64
	for _, word := range strings.Fields(text) {
		m := valueNotation.FindStringSubmatch(word)
		if m == nil {
			return nil, fmt.Errorf("want values such as 0+60x90, got %q", word)
		}
		count, _ := strconv.Atoi(m[3])
		if m[1] == "_" {
			all = append(all, make([]*float64, count)...)
			continue
		}
		from, err := strconv.ParseFloat(m[1], 64)
		if err != nil {
			return nil, err
		}
		step, _ := strconv.ParseFloat("0"+m[2], 64)
		for i := range count + 1 {
			value := from + step*float64(i)
			all = append(all, &value)
		}
	}
	return all, nil
}
