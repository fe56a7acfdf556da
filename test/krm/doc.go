// Package krm tests trainyard-fn with the real kustomize, as generator, transformer and validator. The build must fail
// if it cannot produce the same objects as trainyard generate. Otherwise, an object could be missing, and nobody would
// see an error.
package krm
