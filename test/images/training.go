package images

// Tolerance is the accepted relative difference between two results of a training. In double precision, a different
// order of additions causes smaller differences in losses and parameters, as train.py explains. A lost gradient causes
// a relative difference of more than 0.01.
const Tolerance = 1e-9

// TrainingResult is the file that train.py writes with --out.
type TrainingResult struct {
	Hosts              []string // of each rank
	Losses, Parameters []float64
}
