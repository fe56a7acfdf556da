// Package kueue-0.14 pins Kueue 0.14, of which only manifests are read.
module github.com/trainyard/trainyard/tools/kueue-0.14

go 1.26.0

toolchain go1.26.8

// A package without imports, so that `go mod tidy` keeps the requirement and adds no other.
tool sigs.k8s.io/kueue/pkg/util/strings

require sigs.k8s.io/kueue v0.14.8 // indirect
