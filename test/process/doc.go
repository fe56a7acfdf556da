// Package process runs servers for tests. A Child whose command is a WrapperScript is killed on Linux when the
// program that started it ends. A Daemon runs until a program stops it. The function Oldest finds a process that
// lives as long as its pod.
package process
