package main

import (
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/trainyard/trainyard/controller"
)

func parse(t *testing.T, text string, args ...string) (*flags, error) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "controller.yaml")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	root, f := newRoot(io.Discard), &flags{}
	root.ResetFlags()
	f.add(root)
	if err := root.ParseFlags(args); err != nil {
		t.Fatal(err)
	}
	err := readConfig(path, root.Flags())
	if err != nil {
		t.Logf("%v", err)
	}
	return f, err
}

// TestConfigFileSetsFlags: two flags are set both in the file and on the command line. The values on the command line
// must take precedence.
func TestConfigFileSetsFlags(t *testing.T) {
	f, err := parse(t, `# settings of the controller
workers: 8
kube-api-qps: 12.5
leader-elect: false
shard: a
allow-http: [git.git.svc:80, "git:81"]
metrics-address: ""
log-format: json
allow-address: [10.0.0.0/8]
controllers: [trainjob]
`, "--log-format", "text", "--allow-address", "127.0.0.0/8")
	if err != nil {
		t.Fatal(err)
	}
	o := f.options
	got := []any{o.Workers, o.QPS, o.LeaderElection, o.Shard, o.Network.PlainHTTPHosts, o.MetricsAddress, f.logFormat, f.allow, o.Burst, o.Controllers}
	want := []any{8, float32(12.5), false, "a", []string{"git.git.svc:80", "git:81"}, "", "text", []string{"127.0.0.0/8"}, 400, []string{controller.TrainJobs}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("settings: -want +got:\n%s", diff)
	}
}

func TestConfigFileErrors(t *testing.T) {
	for name, tc := range map[string]struct{ text, want string }{
		"an empty file":        {"", ""},
		"a comment":            {"# nothing\n", ""},
		"a list":               {"- workers\n", ":1:1: want a mapping from the names of flags to values"},
		"a misspelled setting": {"shard: a\nworker: 8\n", ":2:1: unknown setting \"worker\": did you mean \"workers\"?"},
		"an unknown setting":   {"replicas: 2\n", ":1:1: unknown setting \"replicas\": want one of allow-address, "},
		"a file in a file":     {"config: other.yaml\n", ":1:1: unknown setting \"config\": want one of "},
		"no number":            {"workers: many\n", ":1:10: workers: want an integer"},
		"no value":             {"shard:\n", ":1:7: shard: want a text"},
		"a list for one value": {"shard: [a]\n", ":1:8: shard: want a text"},
		"no list":              {"allow-http: git:80\n", ":1:13: allow-http: want a list"},
		"a nested list":        {"allow-http: [[git:80]]\n", ":1:14: allow-http: want a text"},
		"an alias":             {"shard: &a b\nlog-format: *a\n", ":2:13: log-format: want a text"},
		"a repeated setting":   {"shard: a\nshard: b\n", ":2:1: \"shard\" is already set in line 1"},
		"two documents":        {"shard: a\n---\nshard: b\n", "controller.yaml:2:1: want one YAML document"},
		"no YAML":              {"shard: a\n\tb\n", "controller.yaml:2: found a tab character"},
		"no YAML afterwards":   {"shard: a\n---\nshard: [\n", "controller.yaml:3: did not find expected node content"},
		"no controller":        {"controllers: [trainjobs]\n", `:1:15: controllers: "trainjobs": want trainjob or trainjobsource`},
		"no worker":            {"workers: 0\n", `:1:10: workers: "0": want a number greater than 0`},
		"an unknown format":    {"log-format: xml\n", `:1:13: log-format: "xml": want text or json`},
		"no network":           {"deny-address: [10.0.0.0/8, 10.0.0.0]\n", `:1:28: deny-address: "10.0.0.0": want a network`},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := parse(t, tc.text)
			if tc.want == "" {
				if err != nil {
					t.Error(err)
				}
				return
			}
			if usage := (*usageError)(nil); err == nil || !asUsage(err, &usage) || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("error %v, want a usage error with %q", err, tc.want)
			}
		})
	}
	if _, err := parse(t, "workers: x\nshards: a\n"); err == nil || strings.Count(err.Error(), "\n") != 1 {
		t.Errorf("error %v, want two lines", err)
	}
}
