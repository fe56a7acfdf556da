package bench

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/trainyard/trainyard/test/grafanadata"
	"github.com/trainyard/trainyard/test/prometheus"
	"github.com/trainyard/trainyard/test/repo"
)

// RulesTenants is the number of tenants for which Prometheus evaluates rules.
const RulesTenants = 100

// RulesReport holds the times that Prometheus takes to evaluate trainyard's rules.
type RulesReport struct {
	Date    string      `json:"date"`
	Machine Machine     `json:"machine"`
	Version string      `json:"version"` // of Prometheus' Go module
	Rounds  int         `json:"rounds"`
	Sizes   []RulesSize `json:"sizes"`
}

// RulesSize holds the evaluation times that were measured for a certain number of TrainJobs.
type RulesSize struct {
	Jobs     int          `json:"jobs"` // of each tenant
	Series   int          `json:"series"`
	Recorded int          `json:"recorded"`
	Groups   []RulesGroup `json:"groups"`
	Together []float64    `json:"together"` // seconds to evaluate all groups at once
	Load     string       `json:"load"`     // load of the machine after the measurement
}

// RulesGroup holds the CPU time of each evaluation of a group of rules, in seconds.
type RulesGroup struct {
	Name string    `json:"name"`
	CPU  []float64 `json:"cpu"`
}

// totalTime returns the CPU time of one evaluation of all groups.
func (s RulesSize) totalTime() time.Duration {
	var all time.Duration
	for _, g := range s.Groups {
		all += medianSeconds(g.CPU)
	}
	return all
}

// medianSeconds returns the median of durations. The argument contains the durations in seconds.
func medianSeconds(seconds []float64) time.Duration {
	var samples []Sample
	for _, each := range seconds {
		samples = append(samples, Sample{Wall: time.Duration(each * float64(time.Second))})
	}
	return summarizeSamples(samples, wall).Median
}

// RunRules measures how long Prometheus takes to evaluate the rules that trainyard generates for clusters without
// trainyard's controller. Each number in the argument "jobs" is a number of TrainJobs per tenant, and RunRules repeats
// the measurement for each of these numbers. `make bench-rules` builds the program that RunRules needs.
func RunRules(jobs []int, rounds int, progress io.Writer) (*RulesReport, error) {
	g, err := grafanadata.Read("https://runbooks.example")
	if err != nil {
		return nil, err
	}
	root, err := repo.Root()
	if err != nil {
		return nil, err
	}
	program := filepath.Join(root, ".tools/bin/rulecost")
	r := &RulesReport{Date: today(), Rounds: rounds}
	if r.Version, err = moduleVersion(program, "github.com/prometheus/prometheus"); err != nil {
		return nil, err
	}
	for _, each := range jobs {
		fmt.Fprintf(progress, "measuring %d tenants with %d TrainJobs each\n", RulesTenants, each)
		size, err := measureRules(program, g.Alone().Groups, each, rounds)
		if err != nil {
			return nil, err
		}
		r.Sizes = append(r.Sizes, size)
	}
	r.Machine = thisMachine(os.TempDir())
	return r, nil
}

// measureRules runs the program rulecost, which simulates the metrics of TrainJobs and measures the evaluation of the rules.
func measureRules(program string, groups []grafanadata.Group, jobs, rounds int) (RulesSize, error) {
	size := RulesSize{Jobs: jobs}
	dir, err := os.MkdirTemp("", "trainyard-rules-")
	if err != nil {
		return size, err
	}
	defer func() { _ = os.RemoveAll(dir) }() // errors are ignored, because the folder is temporary
	templates := prometheus.SeriesTemplates()
	input, err := json.Marshal(map[string]any{
		"tenants": RulesTenants, "jobs": jobs, "rounds": rounds, "dir": dir, "groups": groups,
		"perJob": templates.PerJob, "perTenant": templates.PerTenant, "once": templates.Once,
	})
	if err != nil {
		return size, err
	}
	cmd := exec.Command(program)
	cmd.Stdin, cmd.Stderr = bytes.NewReader(input), os.Stderr
	output, err := cmd.Output()
	if err != nil {
		return size, fmt.Errorf("measuring rules: %w", err)
	}
	err = json.Unmarshal(output, &size)
	size.Load = averageLoad()
	return size, err
}

// WriteText writes the report as text for a terminal.
func (r *RulesReport) WriteText(w io.Writer) error { return writeText(w, r.sections()) }

// UpdateDocs writes the report to a Markdown file, in place of the previous report of the same type. The rest of the
// file does not change.
func (r *RulesReport) UpdateDocs(file string) error {
	return ruleFigures.update(file, markdown(r.sections()))
}

func (r *RulesReport) sections() []section {
	header := []string{"TrainJobs"}
	var loads []string
	for _, s := range r.Sizes {
		header = append(header, formatThousands(RulesTenants*s.Jobs))
		loads = append(loads, s.Load)
	}
	m := r.Machine
	table := section{title: "Figures of rules", header: header, lines: []string{
		fmt.Sprintf("%s, %d rounds, Prometheus' Go module %s.", r.Date, r.Rounds, r.Version),
		fmt.Sprintf("%s, %d cores, %s, %s, %s. Load average after the measurements of each column: %s.", m.CPU, m.Cores, m.Memory, m.System, m.FileSystem, strings.Join(loads, ", ")),
	}}
	row := func(title string, cell func(RulesSize) string) {
		cells := []string{title}
		for _, s := range r.Sizes {
			cells = append(cells, cell(s))
		}
		table.rows = append(table.rows, cells)
	}
	row("scraped series", func(s RulesSize) string { return formatThousands(s.Series) })
	row("recorded series", func(s RulesSize) string { return formatThousands(s.Recorded) })
	for i, g := range r.Sizes[0].Groups {
		row("CPU of `"+g.Name+"`", func(s RulesSize) string { return formatDuration(medianSeconds(s.Groups[i].CPU)) })
	}
	row("CPU of all groups", func(s RulesSize) string { return formatDuration(s.totalTime()) })
	row("CPU for each TrainJob", func(s RulesSize) string {
		return fmt.Sprintf("%.2f ms", milliseconds(s.totalTime())/float64(RulesTenants*s.Jobs))
	})
	row("elapsed, all groups at once", func(s RulesSize) string { return formatDuration(medianSeconds(s.Together)) })
	return []section{table}
}

// formatThousands formats a number with a comma between groups of three digits.
func formatThousands(n int) string {
	text := strconv.Itoa(n)
	for i := len(text) - 3; i > 0; i -= 3 {
		text = text[:i] + "," + text[i:]
	}
	return text
}
