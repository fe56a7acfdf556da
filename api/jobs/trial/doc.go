// Package trial tests a training runtime with a small TrainJob that has a launcher and a few nodes. In this TrainJob,
// mpirun starts ranks that print the name of their host. Each step that can fail has a Check, and the checks have the
// order of the steps.
package trial
