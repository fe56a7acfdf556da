// Package dashboards holds the dashboards of grafana/dashboards against the rules of good ones, against what
// those who draw them can read, and against Prometheus.
package dashboards
