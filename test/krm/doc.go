// Package krm tests the KRM function trainyard-fn with the real kustomize. kustomize runs trainyard-fn as a generator, as
// a transformer and as a validator. `kustomize build` must fail if it cannot produce the same objects as `trainyard
// generate`. If `kustomize build` ignored an error of trainyard-fn, the build could succeed although objects are missing
// from the output.
package krm
