// Package prometheus-operator pins the version of the prometheus-operator. Tests read only its CRDs.
module github.com/trainyard/trainyard/tools/prometheus-operator

go 1.26.0

toolchain go1.26.8

// The tool directive makes `go mod tidy` keep the requirement. The package in the directive has no imports, so `go mod
// tidy` adds no other requirements.
tool github.com/prometheus-operator/prometheus-operator/example/alertmanager-webhook

require github.com/prometheus-operator/prometheus-operator v0.88.0 // indirect
