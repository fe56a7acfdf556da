package bundles

import (
	"strings"

	"sigs.k8s.io/yaml"
)

// argocdSpec is what OpenShift GitOps is told of its Argo CD: its operator writes the ConfigMap itself.
type argocdSpec struct {
	HealthChecks      []healthCheck     `json:"resourceHealthChecks"`
	Actions           []resourceAction  `json:"resourceActions"`
	IgnoreDifferences ignoreDifferences `json:"resourceIgnoreDifferences"`
}

type healthCheck struct {
	groupKind `json:",inline"`
	Check     string `json:"check"`
}

type resourceAction struct {
	groupKind `json:",inline"`
	Action    string `json:"action"`
}

type ignoreDifferences struct {
	Identifiers []ignored `json:"resourceIdentifiers"`
}

type ignored struct {
	groupKind     `json:",inline"`
	Customization any `json:"customization"`
}

// operatorSettings are those of settings, as the operator of OpenShift GitOps takes them.
func (b Bundle) operatorSettings() ([]byte, error) {
	spec := argocdSpec{}
	for _, file := range settingsIn("health") {
		spec.HealthChecks = append(spec.HealthChecks, healthCheck{groupKindOf(file), settingsFile("health", file)})
	}
	for _, kind := range settingsIn("actions") {
		spec.Actions = append(spec.Actions, resourceAction{groupKindOf(kind + "."), string(mustYAML(actionsOf(kind)))})
	}
	for _, file := range settingsIn("ignore") {
		one := ignored{groupKind: groupKindOf(file)}
		if err := yaml.Unmarshal([]byte(settingsFile("ignore", file)), &one.Customization); err != nil {
			return nil, err
		}
		spec.IgnoreDifferences.Identifiers = append(spec.IgnoreDifferences.Identifiers, one)
	}
	return mustYAML(map[string]any{
		"apiVersion": "argoproj.io/v1beta1",
		"kind":       "ArgoCD",
		"metadata":   map[string]any{"name": b.argocdNamespace(), "namespace": b.argocdNamespace()},
		"spec":       spec,
	}), nil
}

// groupKindOf reads a file's name, such as trainer.kubeflow.org_TrainJob.lua.
func groupKindOf(file string) groupKind {
	group, kind, _ := strings.Cut(kindOf(file), "_")
	return groupKind{group, kind}
}
