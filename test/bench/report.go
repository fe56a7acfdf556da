package bench

import (
	"math"
	"time"
)

// Report holds the results of a run.
type Report struct {
	Date     string            `json:"date"`
	Machine  Machine           `json:"machine"`
	Versions map[string]string `json:"versions"`
	Rounds   int               `json:"rounds"`
	Load     []string          `json:"load"` // load of the machine before the first round, and after each round
	Results  []Result          `json:"results"`
	Writer   []WriterResult    `json:"writer,omitempty"`
}

// Result holds the samples of one case.
type Result struct {
	ID      string                `json:"id"`
	Title   string                `json:"title"`
	Objects int                   `json:"objects,omitempty"`
	CPU     Spread[time.Duration] `json:"cpu"`
	Wall    Spread[time.Duration] `json:"wall"`
	RSS     Spread[int64]         `json:"rss"`
	Samples []Sample              `json:"samples"`
}

func newResult(c Case, samples []Sample) Result {
	return Result{
		ID: c.ID, Title: c.Title, Objects: c.Objects, Samples: samples,
		CPU:  summarizeSamples(samples, func(s Sample) time.Duration { return s.CPU }),
		Wall: summarizeSamples(samples, wall),
		RSS:  summarizeSamples(samples, func(s Sample) int64 { return s.RSS }),
	}
}

func wall(s Sample) time.Duration { return s.Wall }

// PerObject returns the CPU time per object, in milliseconds.
func (r Result) PerObject() float64 {
	return milliseconds(r.CPU.Median) / float64(r.Objects)
}

func milliseconds(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

// findResult returns the result of a case, if the case was measured.
func (r *Report) findResult(id string) (Result, bool) {
	for _, result := range r.Results {
		if result.ID == id {
			return result, true
		}
	}
	return Result{}, false
}

// Exponent describes how CPU time grows with the number of objects: 1 is proportional growth, 2 is quadratic.
type Exponent struct {
	Title        string  `json:"title"`
	Whole        float64 `json:"whole"`        // the exponent for the CPU time of whole processes
	WithoutStart float64 `json:"withoutStart"` // the exponent after the CPU time of startup (examples/minimal) is subtracted
}

// Exponents returns one Exponent for each series of cases. Each case of a series has more objects than the case before.
// For example, one series consists of the cases W/10, W and 5W, in this order. The Exponent describes how the CPU time
// grows with the number of objects. Exponents skips a series if one of its cases was not measured, and skips all series
// if the startup time was not measured. Exponents also skips a series whose exponent is not a number.
func (r *Report) Exponents() []Exponent {
	var found []Exponent
	for _, series := range []struct {
		title string
		ids   []string
	}{
		{"more of everything: W/10, W, 5W", []string{caseTenth, casePlain, caseFiveTimes}},
		{"more tenants: W/5, W, 5W", []string{caseFifth, casePlain, caseFiveTimes}},
		{"more runtimes: W/2-runtimes, W, 3W-runtimes", []string{caseHalf, casePlain, caseByRuntimes}},
	} {
		points, ok := r.points(series.ids)
		start, started := r.findResult(caseMinimal)
		if !ok || !started {
			continue
		}
		e := Exponent{series.title, growthExponent(points), growthExponent(withoutStartup(points, start.CPU.Median.Seconds()))}
		if !math.IsNaN(e.Whole + e.WithoutStart) {
			found = append(found, e)
		}
	}
	return found
}

func (r *Report) points(ids []string) ([]point, bool) {
	var points []point
	for _, id := range ids {
		result, ok := r.findResult(id)
		if !ok {
			return nil, false
		}
		points = append(points, point{result.Objects, result.CPU.Median.Seconds()})
	}
	return points, true
}

// Ratio is another program's CPU time divided by trainyard's CPU time for the same objects.
type Ratio struct {
	Title string  `json:"title"`
	Times float64 `json:"times"`
	Best  bool    `json:"best,omitempty"` // whether this is the ratio to kustomize with the faster of its two file layouts
}

// Ratios returns a ratio for each pair of cases. The first case of a pair measures a program other than trainyard. The
// second case measures trainyard with the same objects. If one of these two cases was not measured, Ratios leaves out
// the pair.
func (r *Report) Ratios() []Ratio {
	var found []Ratio
	best := -1 // the index of kustomize's faster layout in the list "found"
	for _, pair := range []struct{ other, trainyard string }{
		{caseFlat, casePlain}, {caseOverlays, casePlain}, {caseCUE, casePlain}, {caseCUETenant, caseTenant},
		{caseAcmeKustomize, caseAcme}, {caseAcmeHelm, caseAcme}, {caseTypicalKustomize, caseTypical},
	} {
		other, ok := r.findResult(pair.other)
		own, measured := r.findResult(pair.trainyard)
		if !ok || !measured {
			continue
		}
		ratio := Ratio{Title: other.Title, Times: float64(other.CPU.Median) / float64(own.CPU.Median)}
		isKustomize := pair.other == caseFlat || pair.other == caseOverlays
		if isKustomize && (best < 0 || ratio.Times < found[best].Times) {
			best = len(found)
		}
		found = append(found, ratio)
	}
	if best >= 0 {
		found[best].Best = true
	}
	return found
}
