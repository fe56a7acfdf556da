// Package prometheus tries what grafana/ says on Prometheus itself: rules are held against the cases
// that stand beside them, and a server has recorded series and what rules make of them. The programs are Debian's.
package prometheus
