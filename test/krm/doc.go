// Package krm tests trainyard-fn with the real kustomize, as generator, transformer and validator. The build must
// fail if it cannot produce the same objects as trainyard generate. If such a build succeeded, an object could be
// missing without an error.
package krm
