// Package argocd-2.14 pins Argo CD 2.14. Tests read only its CRDs.
module github.com/trainyard/trainyard/tools/argocd-2.14

go 1.26.0

toolchain go1.26.8

// The tool directive makes `go mod tidy` keep the requirement. The package in the directive has no imports, so `go mod
// tidy` adds no other requirements.
tool github.com/argoproj/argo-cd/v2/pkg/apis/application

require github.com/argoproj/argo-cd/v2 v2.14.21 // indirect
