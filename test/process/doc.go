// Package process runs servers for tests. A Child is a child process of the program that starts it. If the Child runs a
// script from WrapperScript, and setpriv is installed, Linux kills the Child when its parent process ends. A Daemon
// runs until a program stops it. The function Oldest can find the first process of a pod. This process runs until the
// pod ends. A test can therefore use the process to enter the network namespace of the pod.
package process
