// Package prometheus tests the rules and dashboards in grafana/ with the programs prometheus and promtool. Both programs
// come from Debian packages. Promtool runs the test cases of rules and panels. A Prometheus server evaluates all rules and
// panels on recorded series.
package prometheus
