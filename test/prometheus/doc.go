// Package prometheus tests the rules and dashboards in grafana/ with the real programs of Prometheus, from Debian packages.
// The program promtool runs the test cases of rules. A Prometheus server with recorded series evaluates all rules and
// panels.
package prometheus
