package layout

import (
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// packageNames maps some Debian packages to their names in the lists of README.md and tools/packages.sh. All other
// packages have their Debian names in these lists.
var packageNames = map[string]string{"openssh-server": "sshd", "openmpi-bin": "Open MPI", "prometheus": "Prometheus", "nodejs": "Node.js"}

// TestPackagesAreListed checks that README.md, and the comment in tools/packages.sh, name the Debian packages that
// tools/packages.sh installs for `make test`.
func TestPackagesAreListed(t *testing.T) {
	comment, script, _ := strings.Cut(string(read(t, "tools/packages.sh")), "\ntest)\n")
	script, _, _ = strings.Cut(script, ";;")
	var want []string
	for _, match := range regexp.MustCompile(`need (\S+) `).FindAllStringSubmatch(script, -1) {
		name := match[1]
		if other := packageNames[name]; other != "" {
			name = other
		}
		want = append(want, name)
	}
	readme := strings.Join(strings.Fields(string(read(t, "README.md"))), " ")
	for place, listed := range map[string]string{
		"README.md": cutOut(readme, "installs missing Debian packages (", ")"),
		"comment":   cutOut(comment, "#   packages.sh test     ", ", for tests"),
	} {
		if diff := cmp.Diff(want, strings.Split(strings.ReplaceAll(listed, " and ", ", "), ", ")); diff != "" {
			t.Errorf("Debian packages: -tools/packages.sh +%s:\n%s", place, diff)
		}
	}
}

func cutOut(text, before, after string) string {
	_, text, _ = strings.Cut(text, before)
	text, _, _ = strings.Cut(text, after)
	return text
}
