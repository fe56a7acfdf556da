// Package upstream prepares upstream projects for tests: the programs that tools/ builds, and the CRDs and webhooks of
// projects such as Trainer and JobSet. The package reads CRDs and webhooks from the Go module cache, so that this
// repository contains no copies.
package upstream
