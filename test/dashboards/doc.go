// Package dashboards checks grafana/dashboards: against lint rules, against Grafana's types, and against the formats
// that the OpenShift console and Perses read.
package dashboards
