// Package prometheus tests grafana/ with the real Prometheus. promtool runs the test cases of rules, and a server
// with recorded series evaluates all rules and panels. The programs come from Debian packages.
package prometheus
