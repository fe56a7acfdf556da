// Package controller runs trainyard's controllers in a cluster. The file controllers.go lists the
// controllers.
package controller
