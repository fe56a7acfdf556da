// Package process runs servers for tests. If the command of a Child is a WrapperScript, Linux kills the Child
// when the program that started it ends. A Daemon runs until a program stops it. The function Oldest finds a
// process that lives as long as its pod.
package process
