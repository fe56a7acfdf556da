// Package upstream prepares upstream projects for tests: the programs that tools/ builds, and the CRDs and
// webhooks of Trainer and JobSet. It reads those from the Go module cache; none is copied into this
// repository.
package upstream
