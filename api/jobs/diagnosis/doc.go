// Package diagnosis finds the reason why a TrainJob failed or does not start.
//
// The input of package diagnosis is a list of texts, such as messages of events and conditions, states of containers, and
// the last lines of logs. The catalogue (catalogue.yaml) lists the known failures, and for each failure the patterns that
// match texts about it. Diagnose returns the failures that it recognizes, with the most probable cause first. Package
// diagnosis reads nothing from a cluster.
package diagnosis
