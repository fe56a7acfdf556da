// Package trainer-2.0 pins Kubeflow Trainer 2.0. Tests read only its manifests.
module github.com/trainyard/trainyard/tools/trainer-2.0

go 1.26.0

toolchain go1.26.8

// The tool directive makes `go mod tidy` keep the requirement. The package in the directive has no imports, so `go mod
// tidy` adds no other requirements.
tool github.com/kubeflow/trainer/v2/pkg/runtime/framework/plugins/jobset/constants

require github.com/kubeflow/trainer/v2 v2.0.0 // indirect
