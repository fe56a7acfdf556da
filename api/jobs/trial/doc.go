// Package trial tests a training runtime with a small TrainJob that has a launcher and a few nodes. In this
// TrainJob, mpirun starts ranks, and each rank prints the name of its host. Each Check tests one step in the life
// of the TrainJob, such as the scheduling of its pods. The order of the checks is the order of these steps.
package trial
