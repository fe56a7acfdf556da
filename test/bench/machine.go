package bench

import (
	"debug/buildinfo"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"runtime"
	"strings"
	"time"

	"github.com/trainyard/trainyard/test/repo"
)

// Machine describes the properties of a machine that affect measured times.
type Machine struct {
	CPU        string `json:"cpu"`
	Cores      int    `json:"cores"`
	Memory     string `json:"memory"`
	System     string `json:"system"`
	FileSystem string `json:"fileSystem"` // the file system of the folder with the bundles
}

func thisMachine(dir string) Machine {
	return Machine{
		CPU:        firstMatch("/proc/cpuinfo", `(?m)^model name\s*: (.*)$`, runtime.GOARCH),
		Cores:      runtime.NumCPU(),
		Memory:     gigabytes(firstMatch("/proc/meminfo", `(?m)^MemTotal: *([0-9]+) kB$`, "0")),
		System:     runtime.GOOS + " " + firstMatch("/proc/sys/kernel/osrelease", `^([0-9]+\.[0-9]+)`, ""),
		FileSystem: filesystemName(dir),
	}
}

// firstMatch searches a file such as /proc/cpuinfo for a pattern, and returns the text of the pattern's first group. If
// there is no match, the result is the argument "otherwise".
func firstMatch(file, pattern, otherwise string) string {
	text, err := os.ReadFile(file)
	if err != nil {
		return otherwise
	}
	if m := regexp.MustCompile(pattern).FindSubmatch(text); m != nil {
		return strings.TrimSpace(string(m[1]))
	}
	return otherwise
}

func gigabytes(kilobytes string) string {
	var n float64
	if _, err := fmt.Sscan(kilobytes, &n); err != nil || n == 0 {
		return "unknown memory"
	}
	return fmt.Sprintf("%.0f GiB", n/(1<<20))
}

// averageLoad returns the load average of the last minute.
func averageLoad() string { return firstMatch("/proc/loadavg", `^([0-9.]+)`, "unknown") }

// programVersions returns the versions of Go and of the measured programs.
func programVersions(programs map[string]string) (map[string]string, error) {
	found := map[string]string{"Go": strings.TrimPrefix(runtime.Version(), "go")}
	for name, path := range programs {
		info, err := buildinfo.ReadFile(path)
		if err != nil {
			return nil, fmt.Errorf("reading the version of %s: %w", name, err)
		}
		found[name] = strings.TrimPrefix(info.Main.Version, "v")
	}
	commit, err := sourceCommit()
	found["trainyard"] = commit
	return found, err
}

// moduleVersion returns the version of a Go module in a program.
func moduleVersion(program, module string) (string, error) {
	info, err := buildinfo.ReadFile(program)
	if err != nil {
		return "", fmt.Errorf("reading the version of %s: %w", module, err)
	}
	for _, d := range info.Deps {
		if d.Path == module {
			return d.Version, nil
		}
	}
	return "", fmt.Errorf("%s does not contain %s", program, module)
}

// sourceCommit returns the Git commit from which trainyard was built.
func sourceCommit() (string, error) {
	root, err := repo.Root()
	if err != nil {
		return "", err
	}
	cmd := exec.Command("git", "describe", "--always", "--dirty", "--abbrev=10")
	cmd.Dir = root
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("reading the commit: %w", err)
	}
	return strings.TrimSpace(string(out)), nil
}

// today returns the current date, which reports show as the date of the run.
func today() string { return time.Now().UTC().Format(time.DateOnly) }
