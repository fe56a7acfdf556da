// Package upstream prepares what the projects below us publish for use in tests: the
// programs that tools/ builds, and the CRDs and webhooks of Trainer and JobSet, which are
// read from the Go module cache. Nothing of theirs is copied into this repository.
package upstream
