// Package crds contains the CustomResourceDefinitions of trainyard. controller-gen generates them from the Go types in
// api/v1alpha1, and `make update` runs controller-gen.
package crds

import _ "embed"

// TrainJobSource contains the CustomResourceDefinition of the kind TrainJobSource, as YAML.
//
//go:embed trainyard.dev_trainjobsources.yaml
var TrainJobSource []byte
