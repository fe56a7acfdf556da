// Package controller runs trainyard's controllers in a cluster. controllers.go lists them.
package controller
