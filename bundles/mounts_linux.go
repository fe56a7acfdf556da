package bundles

import (
	"fmt"
	"os"
	"strings"
)

// mountsIn are the mount points in a directory, by path in it. A file can be one, and a mount from
// the same disk has the same device, so that nothing but this list tells.
func mountsIn(root *os.Root) map[string]bool {
	dir, err := root.Open(".")
	if err != nil {
		return nil
	}
	defer func() { _ = dir.Close() }() // it was only looked at
	above, err := os.Readlink(fmt.Sprintf("/proc/self/fd/%d", dir.Fd()))
	if err != nil {
		return nil // without /proc, devices tell of most
	}
	list, _ := os.ReadFile("/proc/self/mountinfo")
	found := map[string]bool{}
	for line := range strings.Lines(string(list)) {
		if fields := strings.Fields(line); len(fields) > 4 {
			if path, below := strings.CutPrefix(octal.Replace(fields[4]), strings.TrimSuffix(above, "/")+"/"); below {
				found[path] = true
			}
		}
	}
	return found
}

// octal is how the list writes what would end a word.
var octal = strings.NewReplacer(`\040`, " ", `\011`, "\t", `\012`, "\n", `\134`, `\`)
