// Package objects checks the objects of the format "argocd" without a running Argo CD. Argo CD's own program runs the
// health checks and actions of bundles, and shows which differences Argo CD ignores. A real API server with Argo CD's
// CRDs validates the objects that configure Argo CD, such as Applications. The API server also validates the objects
// that the plugin of examples/argocd-plugin adds to Argo CD's own manifests, or changes in them. The package is part
// of `make test`. The tests in the folder test/argocd deliver bundles with a running Argo CD.
package objects
