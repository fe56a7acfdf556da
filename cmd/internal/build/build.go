// Package build returns the version of the running program.
package build

import "runtime/debug"

// Version returns the version of the Go module, or "(devel)" for a working copy, and the commit if it is known.
func Version() (version, commit string) {
	version = "(devel)"
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return version, ""
	}
	if info.Main.Version != "" {
		version = info.Main.Version
	}
	for _, setting := range info.Settings {
		if setting.Key == "vcs.revision" {
			commit = setting.Value
		}
	}
	return version, commit
}

// String returns the version and the commit on one line.
func String() string {
	version, commit := Version()
	if commit != "" {
		version += " " + commit
	}
	return version
}
