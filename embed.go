// Package trainyard embeds the CUE files and examples of this module into binaries. The package contains only data.
// Commands pass the embedded files to the package "generator".
package trainyard

import "embed"

// CUE is the embedded CUE module: the files of all schemas, runtimes, policies, dashboards and builders (code that builds
// Kubernetes objects).
//
//go:embed cue.mod/module.cue schemas/*/*.cue runtimes/*.cue policies/*/*.cue policies/*/*/*.cue grafana/*.cue grafana/*/*.cue generator/*/*.cue generator/objects/*/*.cue
var CUE embed.FS

// Examples contains the platform documents of the folder examples/. Each subfolder is one example.
//
//go:embed examples/*/platform.yaml
var Examples embed.FS
