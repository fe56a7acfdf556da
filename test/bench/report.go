package bench

import (
	"math"
	"time"
)

// Report is what a run found.
type Report struct {
	Date     string            `json:"date"`
	Machine  Machine           `json:"machine"`
	Versions map[string]string `json:"versions"`
	Rounds   int               `json:"rounds"`
	Load     []string          `json:"load"` // before the first round, and after each
	Results  []Result          `json:"results"`
	Writer   []WriterResult    `json:"writer,omitempty"`
}

// Result is what one case took.
type Result struct {
	ID      string                `json:"id"`
	What    string                `json:"what"`
	Objects int                   `json:"objects,omitempty"`
	CPU     Spread[time.Duration] `json:"cpu"`
	Wall    Spread[time.Duration] `json:"wall"`
	RSS     Spread[int64]         `json:"rss"`
	Samples []Sample              `json:"samples"`
}

func newResult(c Case, samples []Sample) Result {
	return Result{
		ID: c.ID, What: c.What, Objects: c.Objects, Samples: samples,
		CPU:  spread(samples, func(s Sample) time.Duration { return s.CPU }),
		Wall: spread(samples, wall),
		RSS:  spread(samples, func(s Sample) int64 { return s.RSS }),
	}
}

func wall(s Sample) time.Duration { return s.Wall }

// PerObject is the CPU time of one object, in milliseconds.
func (r Result) PerObject() float64 {
	return milliseconds(r.CPU.Median) / float64(r.Objects)
}

func milliseconds(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

// find returns the result of a case, if it was measured.
func (r *Report) find(id string) (Result, bool) {
	for _, result := range r.Results {
		if result.ID == id {
			return result, true
		}
	}
	return Result{}, false
}

// Exponent says how the cost grows with the number of objects.
type Exponent struct {
	What         string  `json:"what"`
	Whole        float64 `json:"whole"`        // of whole processes
	WithoutStart float64 `json:"withoutStart"` // after taking off what examples/minimal takes
}

// Exponents are those of the sizes that were measured, where the figures tell.
func (r *Report) Exponents() []Exponent {
	var found []Exponent
	for _, series := range []struct {
		what string
		ids  []string
	}{
		{"more of everything: W/10, W, 5W", []string{caseTenth, casePlain, caseFiveTimes}},
		{"more tenants: W/5, W, 5W", []string{caseFifth, casePlain, caseFiveTimes}},
		{"more runtimes: W/2-runtimes, W, 3W-runtimes", []string{caseHalf, casePlain, caseByRuntimes}},
	} {
		points, ok := r.points(series.ids)
		start, started := r.find(caseMinimal)
		if !ok || !started {
			continue
		}
		e := Exponent{series.what, exponent(points), exponent(less(points, start.CPU.Median.Seconds()))}
		if !math.IsNaN(e.Whole + e.WithoutStart) {
			found = append(found, e)
		}
	}
	return found
}

func (r *Report) points(ids []string) ([]point, bool) {
	var points []point
	for _, id := range ids {
		result, ok := r.find(id)
		if !ok {
			return nil, false
		}
		points = append(points, point{result.Objects, result.CPU.Median.Seconds()})
	}
	return points, true
}

// Ratio says how many times the CPU time of trainyard another program takes for
// the same objects.
type Ratio struct {
	What  string  `json:"what"`
	Times float64 `json:"times"`
	Best  bool    `json:"best,omitempty"` // whether this is the better shape of kustomize
}

// Ratios compare those that were measured.
func (r *Report) Ratios() []Ratio {
	var found []Ratio
	best := -1 // of kustomize
	for _, pair := range []struct{ other, ours string }{
		{caseFlat, casePlain}, {caseOverlays, casePlain}, {caseCUE, casePlain}, {caseCUETenant, caseTenant},
	} {
		other, ok := r.find(pair.other)
		ours, measured := r.find(pair.ours)
		if !ok || !measured {
			continue
		}
		ratio := Ratio{What: other.What, Times: float64(other.CPU.Median) / float64(ours.CPU.Median)}
		shape := pair.other == caseFlat || pair.other == caseOverlays
		if shape && (best < 0 || ratio.Times < found[best].Times) {
			best = len(found)
		}
		found = append(found, ratio)
	}
	if best >= 0 {
		found[best].Best = true
	}
	return found
}
