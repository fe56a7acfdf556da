// Package trial tests a training runtime with a small TrainJob: a launcher and a few nodes. mpirun starts ranks that
// print their host. Each step that can fail is a Check, in the order in which the steps happen.
package trial
