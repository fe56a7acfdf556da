// Package krm tests trainyard-fn with the real kustomize, as generator, transformer and validator. The output must be
// equal to that of trainyard generate, or the build must fail: no object may be missing without an error.
package krm
