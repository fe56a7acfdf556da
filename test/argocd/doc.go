// Package argocd has the real Argo CD apply what the format argocd holds: its repo-server reads a Git
// server and a registry on the loopback interface, and runs a plugin; its application-controller applies to a real API server,
// and its applicationset-controller makes Applications. It takes minutes, and needs Redis and a build of Argo CD: `make argocd`.
package argocd
