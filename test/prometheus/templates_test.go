package prometheus

import (
	"strings"
	"testing"
)

func TestTemplatesNameTenantsAndJobs(t *testing.T) {
	all := SeriesTemplates()
	for name, lines := range map[string][]string{"{job}": all.PerJob, "{tenant}": all.PerTenant} {
		if len(lines) < 20 {
			t.Errorf("found %d series with %s, want at least 20", len(lines), name)
		}
		for _, line := range lines {
			if !strings.Contains(line, name) {
				t.Errorf("%s has no %s", line, name)
			}
		}
	}
	for _, line := range all.Once {
		if strings.Contains(line, "team-") {
			t.Errorf("%s belongs to a tenant", line)
		}
	}
	pods := 0
	for _, line := range all.PerJob {
		if strings.HasPrefix(line, "kube_pod_info{") {
			pods++
		}
	}
	if pods != 2 {
		t.Errorf("a TrainJob has %d pods, want a launcher and a node", pods)
	}
}
