// Package argocd applies bundles of the format "argocd" with the real Argo CD. Argo CD's repo-server reads bundles
// from a Git server and from a registry, which both run on the loopback interface. The repo-server also runs the
// plugin of examples/argocd-plugin. The application-controller applies objects to a real API server, and the
// applicationset-controller creates Applications. Some tests also run Kueue. `make argocd` builds Argo CD and Kueue,
// installs Redis, and runs the tests. The tests of this package take up to half an hour.
package argocd
