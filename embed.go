// Package trainyard carries the CUE of this module into binaries. It holds
// data and nothing else; generator is its only reader.
package trainyard

import "embed"

// CUE holds every schema, runtime, policy and composition, laid out as a CUE module.
//
//go:embed cue.mod/module.cue schemas/*/*.cue runtimes/*.cue policies/*/*.cue policies/*/*/*.cue grafana/*.cue grafana/*/*.cue generator/*/*.cue generator/objects/*/*.cue
var CUE embed.FS

// Examples holds the platform documents of examples/, one folder each.
//
//go:embed examples/*/platform.yaml
var Examples embed.FS
