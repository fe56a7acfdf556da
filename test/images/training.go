package images

// Tolerance is the accepted relative difference between two results of a training. The number of ranks determines the
// order in which gradients are added. train.py computes in double precision. If gradients are added in a different
// order, losses and parameters therefore change by at most Tolerance. The text at the start of train.py states this
// limit for the losses. If a gradient is missing, losses and parameters change by more than 0.01.
const Tolerance = 1e-9

// TrainingResult is the content of the file that train.py writes with --out.
type TrainingResult struct {
	Hosts              []string // the host of each rank
	Losses, Parameters []float64
}
