// Package build says which build a program of ours is.
package build

import "runtime/debug"

// Version is this program's version as the Go module system names it, "(devel)" from a working copy,
// and its commit, where it is known.
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

// Words are the version and the commit as a program prints them.
func Words() string {
	version, commit := Version()
	if commit != "" {
		version += " " + commit
	}
	return version
}
