// Package objects checks the objects of the format "argocd" without a running Argo CD. Argo CD's own program runs the
// health checks and actions of bundles, and shows which differences Argo CD ignores. A real API server with Argo CD's
// CRDs validates the objects that configure Argo CD, such as Applications. The API server also validates a version of
// Argo CD's manifests to which the plugin of examples/argocd-plugin was added. The package is part of `make test`;
// the tests in its parent folder deliver bundles with a running Argo CD.
package objects
