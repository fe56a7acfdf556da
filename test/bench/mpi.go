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

// MPIFigure holds the durations of one measurement, in microseconds. The durations in the field TrainJob were measured
// while mpirun used the settings of the runtime. The durations in the field Plain were measured in the same pods, but
// mpirun did not use these settings.
type MPIFigure struct {
	MPI, Place, Name string
	TrainJob, Plain  []float64
}

// MPIPair shows how much two TrainJobs slow each other down on one machine. All times are in seconds. The field "Alone"
// contains the times of a TrainJob that runs alone. For each value in the field "Together", two equal TrainJobs run at
// the same time, and the value is the time of the slower TrainJob. The fields "PlainAlone" and "PlainTogether" contain
// the corresponding times of TrainJobs that run plain mpirun. Plain mpirun does not get the environment variables of
// the runtime, but only a few necessary settings. If each TrainJob has two ranks, plain mpirun also gets variables that
// tell waiting ranks to give up their CPU core. The section "MPI in pods" of docs/benchmarks.md describes plain mpirun.
// All TrainJobs of one MPIPair run the same program, in pods of the same runtime.
type MPIPair struct {
	MPI                       string
	Ranks                     int
	Alone, Together           []float64
	PlainAlone, PlainTogether []float64
}

// NewMPIReport returns a report that contains only the date and the properties of the machine.
func NewMPIReport(dir string) *MPIReport {
	return &MPIReport{Date: time.Now().Format(time.DateOnly), Machine: thisMachine(dir)}
}

// Ratio returns the time of the TrainJob as a multiple of the time of plain mpirun. Ratio compares the shortest times,
// because other load on the machine can only make a time longer.
func (f MPIFigure) Ratio() float64 { return slices.Min(f.TrainJob) / slices.Min(f.Plain) }

// UpdateDocs writes the new figures of MPI to a Markdown file, in place of the old figures.
func (r *MPIReport) UpdateDocs(file string) error { return mpiFigures.update(file, r.Markdown()) }

// Markdown returns the report as Markdown.
func (r *MPIReport) Markdown() string {
	m := r.Machine
	speed := section{
		title: "Figures of MPI", header: []string{"MPI", "ranks", "measurement", "TrainJob", "plain `mpirun`", "ratio"},
		lines: []string{fmt.Sprintf("%s, %s, %d cores, %s, %s.", r.Date, m.CPU, m.Cores, m.Memory, m.System)},
	}
	for _, f := range r.Figures {
		speed.rows = append(speed.rows, []string{f.MPI, f.Place, f.Name, formatMicroseconds(slices.Min(f.TrainJob)), formatMicroseconds(slices.Min(f.Plain)), fmt.Sprintf("%.2f", f.Ratio())})
	}
	pairs := section{title: "Two TrainJobs at the same time", header: []string{"MPI", "ranks of each TrainJob", "alone", "at the same time", "ratio", "ratio of plain `mpirun`"}}
	for _, p := range r.Pairs {
		alone, together := slices.Min(p.Alone), slices.Min(p.Together)
		pairs.rows = append(pairs.rows, []string{
			p.MPI, fmt.Sprint(p.Ranks), fmt.Sprintf("%.1f s", alone), fmt.Sprintf("%.1f s", together),
			fmt.Sprintf("%.2f", together/alone), fmt.Sprintf("%.2f", slices.Min(p.PlainTogether)/slices.Min(p.PlainAlone)),
		})
	}
	return markdown([]section{speed, pairs})
}

func formatMicroseconds(t float64) string {
	if t >= 1000 {
		return fmt.Sprintf("%.2f ms", t/1000)
	}
	return fmt.Sprintf("%.1f µs", t)
}
