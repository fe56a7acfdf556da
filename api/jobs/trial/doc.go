// Package trial tests a training runtime with a small TrainJob that has a launcher and a few nodes. mpirun of this
// TrainJob starts ranks, and each rank prints the name of its host. Each Check tests one step in the life of the
// TrainJob, such as the scheduling of its pods. The checks of a trial are in the order of the steps that they
// test.
package trial
