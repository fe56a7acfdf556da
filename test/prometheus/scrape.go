package prometheus

import (
	"context"
	"fmt"
	"net/url"
	"path/filepath"
	"time"

	"github.com/trainyard/trainyard/api/v1alpha1"
	"github.com/trainyard/trainyard/test/grafanadata"
)

// Scrape starts Prometheus, which stores its files in the folder "dir". Prometheus scrapes the program at the given
// address every second, and evaluates all rules. The series of the program get the labels that prometheus-operator
// would add for a pod of trainyard-controller.
func Scrape(ctx context.Context, dir string, g grafanadata.Grafana, address string) (*Server, error) {
	s := &Server{dir: dir}
	target := map[string]any{
		"targets": []string{address},
		"labels":  map[string]string{"namespace": v1alpha1.SystemNamespace, "pod": "trainyard-controller-0", "service": "trainyard-controller"},
	}
	err := s.write("prometheus.json", map[string]any{
		"global":         map[string]string{"scrape_interval": "1s", "scrape_timeout": "1s", "evaluation_interval": "1s"},
		"rule_files":     []string{filepath.Join(dir, "rules.json")},
		"scrape_configs": []any{map[string]any{"job_name": "trainyard-controller", "static_configs": []any{target}}},
	})
	if err != nil {
		return nil, err
	}
	if err := s.write("rules.json", map[string]any{"groups": g.Groups}); err != nil {
		return nil, err
	}
	return s, s.start(ctx)
}

// QueryNow evaluates an expression at the current time.
func (s *Server) QueryNow(ctx context.Context, expression string) ([]Sample, error) {
	return s.queryAt(ctx, expression, time.Now())
}

func (s *Server) queryAt(ctx context.Context, expression string, at time.Time) ([]Sample, error) {
	var answer struct {
		Data struct{ Result []Sample }
	}
	err := s.sendRequest(ctx, "/api/v1/query", url.Values{"query": {expression}, "time": {fmt.Sprint(at.Unix())}}, &answer)
	return answer.Data.Result, err
}
