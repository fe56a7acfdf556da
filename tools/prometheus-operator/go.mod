// Package prometheus-operator pins the prometheus-operator, of which only CRDs are read.
module github.com/trainyard/trainyard/tools/prometheus-operator

go 1.26.0

toolchain go1.26.8

// A package without imports, so that `go mod tidy` keeps the requirement and adds no other.
tool github.com/prometheus-operator/prometheus-operator/example/alertmanager-webhook

require github.com/prometheus-operator/prometheus-operator v0.88.0 // indirect
