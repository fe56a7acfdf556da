// Package build returns the version of the running program. The package also returns commands that install other
// programs of trainyard. Each command calls `go install` with the version of the running program. For a version that
// `go install` cannot install, such as (devel), the command contains "latest" instead. This command installs the latest
// release.
package build

import (
	"runtime/debug"
	"strings"
)

// Version returns the version of the Go module and the commit. The version is "(devel)" if Go has not recorded a
// version. The commit is empty if it is not known.
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

// InstallCommand returns the command that installs a program of this repository. The installed program has the same
// version as the running program. If the version of the running program is (devel) or ends with +dirty, Go cannot
// install this version. In this case, the command installs the latest release.
func InstallCommand(program string) string {
	version, _ := Version()
	return installCommand(program, version)
}

func installCommand(program, version string) string {
	if !strings.HasPrefix(version, "v") || strings.HasSuffix(version, "+dirty") {
		version = "latest"
	}
	return "go install github.com/trainyard/trainyard/cmd/" + program + "@" + version
}
