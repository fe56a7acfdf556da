package gitbench

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"slices"
	"strings"
	"time"
)

// sections maps each section of a documentation page to the make target that writes the results in the section.
var sections = map[string]string{"Git": "bench-gitops-docs", "Following": "bench-jobs-docs"}

func markdown(results []result) string {
	var text strings.Builder
	fmt.Fprintf(&text, "\n%s. The steady state was measured for %s.\n\n", measuredOn(), minutes(steadyTime))
	header := []string{"workload", "programs", "applied after", "CPU", "requests", "CPU per minute", "requests per minute", "memory", "peak memory", "push to TrainJob"}
	writeRow(&text, header)
	writeRow(&text, slices.Repeat([]string{"---"}, len(header)))
	for _, r := range results {
		writeRow(&text, r.row())
	}
	text.WriteByte('\n')
	return text.String()
}

func measuredOn() string {
	return fmt.Sprintf("%s, %d cores", time.Now().Format(time.DateOnly), runtime.NumCPU())
}

func writeRow(text *strings.Builder, cells []string) {
	fmt.Fprintf(text, "| %s |\n", strings.Join(cells, " | "))
}

// row returns the cells of a table row. The cell "memory" contains the memory at the end of the steady state.
func (r result) row() []string {
	push := "–"
	if len(r.pushes) > 0 {
		sorted := slices.Sorted(slices.Values(r.pushes))
		push = fmt.Sprintf("%s (%s to %s)", seconds(sorted[len(sorted)/2]), seconds(sorted[0]), seconds(sorted[len(sorted)-1]))
	}
	return []string{
		r.workload, r.system, fmt.Sprintf("%.0f s", r.applyTime.Seconds()),
		fmt.Sprintf("%.1f s", r.applyUsage.cpu), fmt.Sprintf("%.0f", r.applyUsage.requests),
		fmt.Sprintf("%.2f s", r.steady.cpu/steadyTime.Minutes()), fmt.Sprintf("%.0f", r.steady.requests/steadyTime.Minutes()),
		megabytes(r.steady.memory), megabytes(r.peak), push,
	}
}

func seconds(d time.Duration) string { return fmt.Sprintf("%.2f s", d.Seconds()) }
func minutes(d time.Duration) string { return fmt.Sprintf("%.0f minutes", d.Minutes()) }
func megabytes(bytes float64) string { return fmt.Sprintf("%.0f MB", bytes/1e6) }

func updateDocs(file, section, figures string) error {
	begin := fmt.Sprintf("<!-- %s: begin. Written by `make %s`. -->\n", section, sections[section])
	end := fmt.Sprintf("<!-- %s: end. -->\n", section)
	text, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	above, rest, begins := strings.Cut(string(text), begin)
	_, below, ends := strings.Cut(rest, end)
	if !begins || !ends {
		return errors.New(file + ": the comments that enclose the figures are missing")
	}
	return os.WriteFile(file, []byte(above+begin+figures+end+below), 0o644)
}
