package prometheus

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"github.com/trainyard/trainyard/test/grafanadata"
	"github.com/trainyard/trainyard/test/process"
)

// startTimeout is the maximum time for the start of Prometheus.
const startTimeout = 2 * time.Minute

// Server is a Prometheus server. A Server that was started by the function Start contains the recorded series and the
// results of the recording rules.
type Server struct {
	dir   string
	url   string
	child *process.Child
}

// Start starts Prometheus with the recorded series and with the results of the recording rules for the same time range.
// Prometheus stores its files in the folder "dir". Start evaluates one stage of rules after another, because the rules of
// a stage use the results of earlier stages.
func Start(ctx context.Context, dir string, g grafanadata.Grafana) (*Server, error) {
	s := &Server{dir: dir}
	if err := s.writeRecorded(); err != nil {
		return nil, err
	}
	if err := s.write("prometheus.json", map[string]any{"global": map[string]string{"evaluation_interval": "1h"}, "rule_files": []string{filepath.Join(dir, "rules.json")}}); err != nil {
		return nil, err
	}
	if err := s.write("rules.json", map[string]any{"groups": g.Groups}); err != nil {
		return nil, err
	}
	for _, stage := range ruleStages(g) {
		if err := s.evaluateRules(ctx, stage); err != nil {
			return nil, err
		}
	}
	return s, s.start(ctx)
}

// ruleStages divides the recording rules into stages. A rule may query the results of rules in
// earlier stages, but not the results of other rules in its own stage.
func ruleStages(g grafanadata.Grafana) [][]grafanadata.Group {
	var all [][]grafanadata.Group
	for stage := 1; ; stage++ {
		var groups []grafanadata.Group
		for _, name := range grafanadata.Sorted(g.Records) {
			if r := g.Records[name]; r.Stage == stage {
				groups = append(groups, grafanadata.Group{Name: name, Rules: []map[string]any{{"record": name, "expr": r.Expr}}})
			}
		}
		if groups == nil {
			return all
		}
		all = append(all, groups)
	}
}

// writeRecorded writes the recorded series as blocks into the storage of Prometheus.
func (s *Server) writeRecorded() error {
	file, err := os.Create(filepath.Join(s.dir, "recorded.om"))
	if err != nil {
		return fmt.Errorf("recording series: %w", err)
	}
	err = openMetrics(file)
	if err := errors.Join(err, file.Close()); err != nil {
		return fmt.Errorf("recording series: %w", err)
	}
	return runPromtoolIn(s.dir, "tsdb", "create-blocks-from", "openmetrics", "--quiet", file.Name(), s.data())
}

func (s *Server) data() string { return filepath.Join(s.dir, "data") }

// evaluateRules evaluates rules on the series in the storage of Prometheus, and writes the results
// as new blocks.
func (s *Server) evaluateRules(ctx context.Context, groups []grafanadata.Group) error {
	if err := s.start(ctx); err != nil {
		return err
	}
	defer func() { _ = s.Stop() }()
	if err := s.write("stage.json", map[string]any{"groups": groups}); err != nil {
		return err
	}
	// Prometheus evaluates a rule group at a fixed second of the minute. Prometheus computes this second from the name
	// of the group and the path of the rule file. The path is relative and always the same, because another path would
	// change the results of rules.
	return runPromtoolIn(s.dir, "tsdb", "create-blocks-from", "rules", "--quiet", "--url="+s.url, "--output-dir="+s.data(),
		"--start="+Begin.Format(time.RFC3339), "--end="+End.Format(time.RFC3339), "stage.json")
}

func (s *Server) start(ctx context.Context) error {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return fmt.Errorf("finding a port: %w", err)
	}
	address := listener.Addr().String()
	_ = listener.Close()
	log, err := os.Create(filepath.Join(s.dir, "prometheus.log"))
	if err != nil {
		return fmt.Errorf("starting Prometheus: %w", err)
	}
	cmd := exec.Command("prometheus", "--config.file="+filepath.Join(s.dir, "prometheus.json"), "--storage.tsdb.path="+s.data(),
		"--storage.tsdb.retention.time=100y", "--web.listen-address="+address, "--log.level=warn")
	if s.child, err = process.Run(cmd, log); err != nil {
		return err
	}
	s.url = "http://" + address
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	return process.WaitFor(ctx, s.child, func(ctx context.Context) error { return s.sendRequest(ctx, "/-/ready", nil, nil) })
}

// Stop stops the server.
func (s *Server) Stop() error { return s.child.Stop() }

// Sample is a series with one value, in a response of Prometheus.
type Sample struct {
	Metric map[string]string
	Value  [2]any // timestamp, and value as text
}

// Query evaluates an expression at the end of the time range of the recorded series.
func (s *Server) Query(ctx context.Context, expression string) ([]Sample, error) {
	return s.queryAt(ctx, expression, End)
}

// sendRequest sends a request to Prometheus' HTTP API.
func (s *Server) sendRequest(ctx context.Context, path string, query url.Values, into any) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, s.url+path+"?"+query.Encode(), nil)
	if err != nil {
		return err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return err
	}
	defer func() { _ = response.Body.Close() }()
	if response.StatusCode != http.StatusOK {
		var failure struct{ Error string }
		_ = json.NewDecoder(response.Body).Decode(&failure)
		return fmt.Errorf("querying Prometheus: %s: %s", response.Status, failure.Error)
	}
	if into == nil {
		return nil
	}
	return json.NewDecoder(response.Body).Decode(into)
}

func (s *Server) write(name string, content any) error {
	text, err := json.Marshal(content)
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(s.dir, name), text, 0o600)
}

// runPromtoolIn runs promtool in a folder.
func runPromtoolIn(dir string, arguments ...string) error {
	cmd := exec.Command("promtool", arguments...)
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("promtool %v: %w: %s", arguments[:3], err, out)
	}
	return nil
}
