// Package krm tests trainyard-fn, which is a KRM function, as generator, transformer and validator of the real kustomize.
// `kustomize build` must fail if it cannot produce the same objects as `trainyard generate`. Otherwise, objects could be
// missing without an error.
package krm
