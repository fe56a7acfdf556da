// Package objects checks the objects of the format "argocd" without a running Argo CD. Argo CD's own program runs the
// health checks, actions and ignored differences of bundles. A real API server with Argo CD's CRDs validates all objects.
// The API server also validates Argo CD's manifests after the plugin of examples/argocd-plugin was added to them. The
// package is part of `make test`; the tests in its parent folder deliver bundles with a running Argo CD.
package objects
