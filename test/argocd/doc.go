// Package argocd has the real Argo CD apply what the format argocd holds: its repo-server reads a Git
// server on the loopback interface, and its application-controller applies to a real API server. It
// takes minutes, and needs Redis and a build of Argo CD: `make argocd`.
package argocd
