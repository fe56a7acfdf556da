// Package process runs servers for tests. A Child is a child process of the program that starts it. If the Child runs a
// script from WrapperScript, and setpriv is installed, Linux kills the Child when its parent process ends. A Daemon
// runs until a program stops it. The function Oldest finds a process that lives as long as its pod.
package process
