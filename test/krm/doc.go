// Package krm has the real kustomize run trainyard-fn, in each way that a kustomization can: it
// makes what trainyard generates, or the build fails; never does something go missing in silence.
package krm
