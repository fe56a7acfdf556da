package bench

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func measuredReport(cpu map[string]time.Duration) *Report {
	r := &Report{}
	for id, objects := range map[string]int{
		casePlain: 2000, caseTenth: 200, caseFiveTimes: 10000, caseMinimal: 1, caseFlat: 2000, caseOverlays: 2000, caseCUE: 2000,
		caseFunction: 2000, caseAcme: 80, caseAcmeKustomize: 80, caseAcmeHelm: 80, caseTypical: 3000, caseTypicalKustomize: 3000,
	} {
		if d, ok := cpu[id]; ok {
			r.Results = append(r.Results, newResult(Case{ID: id, Title: id, Objects: objects}, []Sample{{CPU: d, Wall: d}}))
		}
	}
	return r
}

func TestBestRatioIsOfTheFasterLayout(t *testing.T) {
	r := measuredReport(map[string]time.Duration{casePlain: time.Second, caseFlat: 30 * time.Second, caseOverlays: 20 * time.Second, caseCUE: 2 * time.Second})
	for _, ratio := range r.Ratios() {
		if want := ratio.Title == caseOverlays; ratio.Best != want {
			t.Errorf("%s: faster layout is %v, want %v", ratio.Title, ratio.Best, want)
		}
	}
	if len(r.Ratios()) != 3 {
		t.Errorf("found %d ratios, want 3", len(r.Ratios()))
	}
}

func TestUnmeasuredCasesAreNotReported(t *testing.T) {
	r := measuredReport(map[string]time.Duration{casePlain: time.Second, caseTenth: time.Second})
	if found := len(r.Exponents()) + len(r.Ratios()); found != 0 {
		t.Errorf("found %d exponents and ratios, want none", found)
	}
	if text := r.Markdown(); strings.Contains(text, "Growth") || !strings.Contains(text, "| w-plain | 2000 | 1.00 s |") {
		t.Errorf("want a report with w-plain and without a section on growth, got\n%s", text)
	}
}

func TestReportComparesTheFunctionWithWrittenFiles(t *testing.T) {
	r := measuredReport(map[string]time.Duration{caseFunction: 3 * time.Second, caseFlat: 2 * time.Second})
	if text := r.Markdown(); !strings.Contains(text, "use 3.00 s of CPU time. This CPU time includes the time of `trainyard-fn`. If `kustomize build` reads files that trainyard wrote before the measurement, the builds use 2.00 s of CPU time. The ratio of the two CPU times is 1.5.") {
		t.Errorf("want a report with a ratio of 1.5, got\n%s", text)
	}
}

// TestSingleEnvironmentsAreCompared checks two groups of rows in the report: the rows about one environment of
// examples/acme, and the rows about workload W2.
func TestSingleEnvironmentsAreCompared(t *testing.T) {
	const target = "divided by the CPU of `kustomize build` | at most 1 | "
	for name, test := range map[string]struct {
		acme time.Duration
		rows []string
	}{
		"twice the CPU of kustomize": {2 * time.Second, []string{target + "2.0 | missed |", "\n| acme-kustomize | 0.5 |\n", "\n| acme-helm | 1.5 |\n"}},
		"the same CPU as kustomize":  {time.Second, []string{target + "1.0 | met |", "\n| acme-kustomize | 1.0 |\n", "\n| acme-helm | 3.0 |\n"}},
	} {
		t.Run(name, func(t *testing.T) {
			text := measuredReport(map[string]time.Duration{
				caseAcme: test.acme, caseAcmeKustomize: time.Second, caseAcmeHelm: 3 * time.Second,
				caseTypical: 2 * time.Second, caseTypicalKustomize: 5 * time.Second,
			}).Markdown()
			for _, row := range append(test.rows, "\n| w2-kustomize | 2.5 |\n", "\n| w2 | 3000 | 2.00 s |", "\n| w2-kustomize | 3000 | 5.00 s |") {
				if !strings.Contains(text, row) {
					t.Errorf("want the row %q, got\n%s", row, text)
				}
			}
			if strings.Contains(text, "faster layout") {
				t.Errorf("want no comparison of layouts, got\n%s", text)
			}
		})
	}
}

// TestReportIsReadableJSON writes and reads a report in which an exponent is not a number (NaN). JSON cannot
// represent NaN, so the written report must not contain this exponent.
func TestReportIsReadableJSON(t *testing.T) {
	report := measuredReport(map[string]time.Duration{caseTenth: time.Second, casePlain: 2 * time.Second, caseFiveTimes: 3 * time.Second, caseMinimal: 5 * time.Second})
	var b strings.Builder
	if err := report.WriteJSON(&b); err != nil {
		t.Fatal(err)
	}
	var read struct{ Results []Result }
	if err := json.Unmarshal([]byte(b.String()), &read); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(report.Results, read.Results); diff != "" {
		t.Errorf("results: -written +read:\n%s", diff)
	}
}

func TestReplaceFigures(t *testing.T) {
	before := "# Speed\n" + ownFigures.begin + "old\n" + ownFigures.end + "More.\n"
	got, err := ownFigures.replace(before, "new\n")
	if want := strings.Replace(before, "old", "new", 1); err != nil || got != want {
		t.Errorf("replace() = %q, %v, want %q", got, err, want)
	}
	if _, err := ownFigures.replace("# Speed\n", "new\n"); err == nil {
		t.Error("replace() of a file without the comments succeeded, want an error")
	}
}

func TestRulesReport(t *testing.T) {
	groups := []RulesGroup{{"pods", []float64{0.2, 0.1, 0.9}}, {"gpus", []float64{1, 1, 1}}}
	r := &RulesReport{Rounds: 3, Sizes: []RulesSize{
		{Jobs: 10, Series: 90000, Recorded: 500, Groups: groups, Together: []float64{0.8}},
		{Jobs: 1000, Series: 9000000, Recorded: 50000, Groups: groups, Together: []float64{80}},
	}}
	text := markdown(r.sections())
	for _, row := range []string{
		"| TrainJobs | 1,000 | 100,000 |", "| scraped series | 90,000 | 9,000,000 |", "| CPU of `pods` | 200 ms | 200 ms |",
		"| CPU of all groups | 1.20 s | 1.20 s |", "| CPU for each TrainJob | 1.20 ms | 0.01 ms |", "| elapsed, all groups at once | 800 ms | 80.00 s |",
	} {
		if !strings.Contains(text, row) {
			t.Errorf("want the row %s, got\n%s", row, text)
		}
	}
}
