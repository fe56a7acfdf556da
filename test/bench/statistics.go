package bench

import (
	"cmp"
	"math"
	"slices"
)

// Spread summarizes several measurements.
type Spread[T cmp.Ordered] struct {
	Median T `json:"median"` // for an even number of measurements, the lower of the two middle values
	Min    T `json:"min"`
	Max    T `json:"max"`
}

// summarizeSamples returns the median, minimum and maximum of a figure, such as the CPU time, over all samples. There
// must be at least one sample.
func summarizeSamples[T cmp.Ordered](samples []Sample, of func(Sample) T) Spread[T] {
	var values []T
	for _, s := range samples {
		values = append(values, of(s))
	}
	slices.Sort(values)
	return Spread[T]{Median: values[(len(values)-1)/2], Min: values[0], Max: values[len(values)-1]}
}

// point is the CPU time that was measured for a certain number of objects.
type point struct {
	objects int
	seconds float64
}

// growthExponent returns the slope of the regression line through the points on logarithmic scales. The slope is 1 if
// twice as many objects take twice the time. The slope is 2 if twice as many objects take four times the time. The
// slope is NaN if the points do not determine a line.
func growthExponent(points []point) float64 {
	var n, x, y, xx, xy float64
	for _, p := range points {
		if p.objects <= 0 || p.seconds <= 0 {
			return math.NaN()
		}
		a, b := math.Log(float64(p.objects)), math.Log(p.seconds)
		n, x, y, xx, xy = n+1, x+a, y+b, xx+a*a, xy+a*b
	}
	if spread := n*xx - x*x; n >= 2 && spread > 1e-9 {
		return (n*xy - x*y) / spread
	}
	return math.NaN()
}

// withoutStartup subtracts the startup time from the CPU time of each point.
func withoutStartup(points []point, start float64) []point {
	var left []point
	for _, p := range points {
		left = append(left, point{p.objects, p.seconds - start})
	}
	return left
}
