package bench

import (
	"fmt"
	"slices"
	"time"
)

// MPIReport holds the speed of MPI in pods.
type MPIReport struct {
	Date    string
	Machine Machine
	Figures []MPIFigure
	Pairs   []MPIPair
}

// MPIFigure compares a TrainJob with plain mpirun in the same image and pods. Times are in microseconds.
type MPIFigure struct {
	MPI, Place, Name string
	TrainJob, Plain  []float64
}

// MPIPair holds the seconds that a TrainJob takes alone, and at the same time as another TrainJob on the same machine.
type MPIPair struct {
	MPI             string
	Alone, Together float64
}

// NewMPIReport returns a report without figures, with the date and the machine.
func NewMPIReport(dir string) *MPIReport {
	return &MPIReport{Date: time.Now().Format(time.DateOnly), Machine: thisMachine(dir)}
}

// Ratio returns the time of the TrainJob as a multiple of the time of plain mpirun, both as medians.
func (f MPIFigure) Ratio() float64 { return median(f.TrainJob) / median(f.Plain) }

// median returns the middle value, or the upper one of two middle values.
func median(values []float64) float64 {
	return slices.Sorted(slices.Values(values))[len(values)/2]
}

// UpdateDocs replaces the figures of MPI in a Markdown file.
func (r *MPIReport) UpdateDocs(file string) error { return mpiFigures.update(file, r.Markdown()) }

// Markdown returns the report as Markdown.
func (r *MPIReport) Markdown() string {
	m := r.Machine
	speed := section{
		title: "Figures of MPI", header: []string{"MPI", "ranks", "measurement", "TrainJob", "plain `mpirun`", "ratio"},
		lines: []string{fmt.Sprintf("%s, %s, %d cores, %s, %s.", r.Date, m.CPU, m.Cores, m.Memory, m.System)},
	}
	for _, f := range r.Figures {
		speed.rows = append(speed.rows, []string{f.MPI, f.Place, f.Name, formatMicroseconds(median(f.TrainJob)), formatMicroseconds(median(f.Plain)), fmt.Sprintf("%.2f", f.Ratio())})
	}
	pairs := section{title: "Two TrainJobs at the same time", header: []string{"MPI", "alone", "at the same time", "ratio"}}
	for _, p := range r.Pairs {
		pairs.rows = append(pairs.rows, []string{p.MPI, fmt.Sprintf("%.1f s", p.Alone), fmt.Sprintf("%.1f s", p.Together), fmt.Sprintf("%.2f", p.Together/p.Alone)})
	}
	return markdown([]section{speed, pairs})
}

func formatMicroseconds(t float64) string {
	if t >= 1000 {
		return fmt.Sprintf("%.2f ms", t/1000)
	}
	return fmt.Sprintf("%.1f µs", t)
}
