// Package trainer-2.2 pins Kubeflow Trainer 2.2, of which only manifests are read.
module github.com/trainyard/trainyard/tools/trainer-2.2

go 1.26.0

toolchain go1.26.8

// A package without imports, so that `go mod tidy` keeps the requirement and adds no other.
tool github.com/kubeflow/trainer/v2/pkg/runtime/framework/plugins/jobset/constants

require github.com/kubeflow/trainer/v2 v2.2.0 // indirect
