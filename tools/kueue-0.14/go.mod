// Package kueue-0.14 pins Kueue 0.14. Tests read only its manifests.
module github.com/trainyard/trainyard/tools/kueue-0.14

go 1.26.0

toolchain go1.26.8

// The tool directive makes `go mod tidy` keep the requirement. The package in the directive has no imports, so `go mod
// tidy` adds no other requirements.
tool sigs.k8s.io/kueue/pkg/util/strings

require sigs.k8s.io/kueue v0.14.8 // indirect
