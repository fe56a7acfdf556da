// Package dashboards tests grafana/dashboards. The tests compare the dashboards with lint rules, with Grafana's types,
// and with the formats that the OpenShift console and Perses read.
package dashboards
