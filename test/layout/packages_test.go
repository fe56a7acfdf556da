package layout

import (
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// packageNames holds the names in README.md of Debian packages that have another name there.
var packageNames = map[string]string{"openssh-server": "sshd", "openmpi-bin": "Open MPI", "prometheus": "Prometheus", "nodejs": "Node.js"}

// TestReadmeListsPackages checks that README.md names the Debian packages that tools/packages.sh installs for `make
// test`.
func TestReadmeListsPackages(t *testing.T) {
	_, script, _ := strings.Cut(string(read(t, "tools/packages.sh")), "\ntest)\n")
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
	_, listed, _ := strings.Cut(readme, "installs missing Debian packages (")
	listed, _, _ = strings.Cut(listed, ")")
	if diff := cmp.Diff(want, strings.Split(strings.ReplaceAll(listed, " and ", ", "), ", ")); diff != "" {
		t.Errorf("Debian packages: -tools/packages.sh +README.md:\n%s", diff)
	}
}
