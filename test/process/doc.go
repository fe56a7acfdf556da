// Package process runs servers for tests: a Child ends with the program that started it, a
// Daemon stays when that program has ended, until somebody stops it.
package process
