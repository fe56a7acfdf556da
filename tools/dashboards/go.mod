// Package dashboards pins the grafana-operator and the operator of Perses, of which only CRDs are read.
module github.com/trainyard/trainyard/tools/dashboards

go 1.26.0

toolchain go1.26.8

// A package without imports, so that `go mod tidy` keeps the requirement and adds no other. The operator of Perses has
// none: its two lines, here and in go.sum, have to be put back after a tidying.
tool github.com/grafana/grafana-operator/v5/embeds

require (
	github.com/grafana/grafana-operator/v5 v5.18.0 // indirect
	github.com/perses/perses-operator v0.2.0 // indirect
)
