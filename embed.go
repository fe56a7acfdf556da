// Package trainyard embeds the CUE files and examples of this module into binaries. The package contains only data.
// Commands pass this data to the package generator.
package trainyard

import "embed"

// CUE holds the files of every schema, runtime, policy, dashboard and builder, as a CUE module.
//
//go:embed cue.mod/module.cue schemas/*/*.cue runtimes/*.cue policies/*/*.cue policies/*/*/*.cue grafana/*.cue grafana/*/*.cue generator/*/*.cue generator/objects/*/*.cue
var CUE embed.FS

// Examples holds the platform documents of examples/. Each example is one folder.
//
//go:embed examples/*/platform.yaml
var Examples embed.FS
