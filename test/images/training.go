package images

// Tolerance is the relative difference that the order of additions can cause in losses and parameters of double
// precision, as train.py explains. A lost gradient causes more than a hundredth.
const Tolerance = 1e-9

// TrainingResult is the file that train.py writes with --out.
type TrainingResult struct {
	Hosts              []string // of each rank
	Losses, Parameters []float64
}
