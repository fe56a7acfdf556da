// Package argocd-operator pins the operator on which OpenShift GitOps is based. Tests read only its CRDs.
module github.com/trainyard/trainyard/tools/argocd-operator

go 1.26.0

toolchain go1.26.8

// The tool directive makes `go mod tidy` keep the requirement. The package in the directive has no imports, so `go mod
// tidy` adds no other requirements.
tool github.com/argoproj-labs/argocd-operator/version

require github.com/argoproj-labs/argocd-operator v0.17.0 // indirect
