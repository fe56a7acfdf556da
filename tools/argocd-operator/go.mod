// Package argocd-operator pins the operator that OpenShift GitOps comes of, of which only CRDs are read.
module github.com/trainyard/trainyard/tools/argocd-operator

go 1.26.0

toolchain go1.26.8

// A package without imports, so that `go mod tidy` keeps the requirement and adds no other.
tool github.com/argoproj-labs/argocd-operator/version

require github.com/argoproj-labs/argocd-operator v0.17.0 // indirect
