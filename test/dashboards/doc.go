// Package dashboards tests grafana/dashboards. The tests check the dashboards against lint rules, against Grafana's
// types, and against the formats that the OpenShift console and Perses read.
package dashboards
