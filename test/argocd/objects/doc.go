// Package objects checks the objects of the format "argocd" without a running Argo CD. Argo CD's own program runs the
// health checks, actions and ignored differences of bundles. A real API server with Argo CD's CRDs validates all
// objects, and the manifests of Argo CD with the plugin of examples/argocd-plugin. The package is part of `make test`;
// the tests in its parent folder deliver bundles with a running Argo CD.
package objects
