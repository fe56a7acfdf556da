// Package process runs servers for tests. A Child ends with the program that started it; a Daemon runs
// until somebody stops it.
package process
