// Package trial tries a training runtime with the smallest TrainJob that shows whether it works:
// a launcher and a few nodes, on which mpirun starts ranks that say where they are. Each thing
// that can go wrong on the way is a Check, in the order in which they happen.
package trial
