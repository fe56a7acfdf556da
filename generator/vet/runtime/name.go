package runtimevet

import (
	"k8s.io/apimachinery/pkg/util/validation"
)

// invalidName finds names of runtimes that the API server refuses. Source: the API server's validation of the
// names of custom resources.
func invalidName(p *pass) {
	metadata := p.root.get("metadata")
	name := metadata.get("name")
	switch {
	case name.isSet():
		if len(validation.IsDNS1123Subdomain(name.text())) > 0 {
			p.addProblem(name, `the API server refuses this name: write at most 253 lower-case letters, digits, "-" and ".", with a letter or digit at both ends`)
		}
	case !metadata.get("generateName").isSet():
		p.addProblem(name, "the API server requires a name: write metadata.name")
	}
}
