package images

// Tolerance is the accepted relative difference between two results of a training. The number of ranks determines the
// order in which gradients are added. In double precision, another order changes losses and parameters by less than
// Tolerance, as train.py explains. If a gradient is missing, losses and parameters change by more than 0.01.
const Tolerance = 1e-9

// TrainingResult is the content of the file that train.py writes with --out.
type TrainingResult struct {
	Hosts              []string // the host of each rank
	Losses, Parameters []float64
}
