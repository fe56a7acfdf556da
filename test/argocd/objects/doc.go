// Package objects checks the objects of the format "argocd" without a running Argo CD. The command-line program of
// Argo CD runs the health checks and actions of bundles, and shows which differences Argo CD ignores. A real API
// server with Argo CD's CRDs validates the objects that configure Argo CD, such as Applications. The folder
// examples/argocd-plugin contains a kustomize component that adds a plugin to Argo CD's own manifests. The API server
// also validates the objects that this component adds or changes. The package is part of `make test`. The tests in
// the folder test/argocd deliver bundles with a running Argo CD.
package objects
