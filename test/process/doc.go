// Package process runs servers for tests. A Child ends with the program that started it. A Daemon runs until a
// program stops it.
package process
