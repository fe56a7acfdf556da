// Package dashboards pins the grafana-operator and the operator of Perses. Tests read only the CRDs of both operators.
module github.com/trainyard/trainyard/tools/dashboards

go 1.26.0

toolchain go1.26.8

// The tool directive makes `go mod tidy` keep the requirement of grafana-operator. The package in the directive has
// no imports, so `go mod tidy` adds no other requirements. Every package of perses-operator has imports, so a tool
// directive for perses-operator would add other requirements. Without a tool directive, `go mod tidy` removes
// perses-operator from go.mod and go.sum. After `go mod tidy`, add perses-operator to both files again.
tool github.com/grafana/grafana-operator/v5/embeds

require (
	github.com/grafana/grafana-operator/v5 v5.18.0 // indirect
	github.com/perses/perses-operator v0.2.0 // indirect
)
