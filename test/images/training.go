package images

// Tolerance is the maximum relative difference that another order of additions can cause in losses and parameters of
// double precision, as train.py explains. A lost gradient causes a relative difference of more than 0.01.
const Tolerance = 1e-9

// TrainingResult is the file that train.py writes with --out.
type TrainingResult struct {
	Hosts              []string // of each rank
	Losses, Parameters []float64
}
