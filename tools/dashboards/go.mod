// Package dashboards pins the grafana-operator and the operator of Perses. Tests read only the CRDs of both.
module github.com/trainyard/trainyard/tools/dashboards

go 1.26.0

toolchain go1.26.8

// The package in the next directive has no imports, so `go mod tidy` keeps the requirement and adds no
// others. The operator of Perses has no package without imports, so `go mod tidy` removes its line here and its line in
// go.sum. Add these two lines again afterwards.
tool github.com/grafana/grafana-operator/v5/embeds

require (
	github.com/grafana/grafana-operator/v5 v5.18.0 // indirect
	github.com/perses/perses-operator v0.2.0 // indirect
)
