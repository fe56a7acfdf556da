// Package process runs servers for tests. A Child belongs to the program that starts it. If the command of
// the Child is a WrapperScript, and setpriv is installed, Linux kills the Child when this program ends. A
// Daemon runs until a program stops it. The function Oldest finds a process that lives as long as its pod.
package process
