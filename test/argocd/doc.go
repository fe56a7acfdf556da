// Package argocd applies bundles of the format argocd with the real Argo CD. Its repo-server reads a Git server and a
// registry on the loopback interface, and runs a plugin. Its application-controller applies objects to a real API server, and its
// applicationset-controller creates Applications. The tests take minutes, and need Redis and a build of Argo CD: `make argocd`.
package argocd
