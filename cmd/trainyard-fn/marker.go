package main

import (
	"slices"

	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/trainyard/trainyard/api/v1alpha1"
)

// isGenerator reports whether kustomize runs a generator. The items of a generator contain only the functionConfig.
func (l *resourceList) isGenerator() bool {
	return len(l.Items) > 0 && !slices.ContainsFunc(l.Items, func(item *yaml.RNode) bool { return !isLocal(item) })
}

// leaveMarker replaces the items with an object, the marker, that records which function ran. Without permission to run
// a function, kustomize skips the function, and reports no error. A replacement in the kustomization then fails without
// the marker. kustomize removes the marker at the end, because an annotation declares the marker as local.
func (l *resourceList) leaveMarker(function string) int {
	return l.replaceItems(map[string]any{
		"apiVersion": v1alpha1.APIVersion, "kind": "FunctionRun", "function": function,
		"metadata": map[string]any{
			"name":        l.FunctionConfig.GetName(),
			"annotations": map[string]any{localConfigAnnotation: "true"},
		},
	})
}

// leaveMisplacedValidator replaces the items with one object of an unknown kind, which no API server accepts. If a
// validator is listed below transformers by mistake, its output becomes the whole output of kustomize. Nobody can then
// apply this output with pruning, which would delete all other objects.
func (l *resourceList) leaveMisplacedValidator() int {
	return l.replaceItems(map[string]any{
		"apiVersion": v1alpha1.APIVersion, "kind": "MisplacedValidator",
		"metadata": map[string]any{"name": l.FunctionConfig.GetName()},
		"message":  "this document validates objects: list it below validators in the kustomization; below transformers, its output replaces all objects",
	})
}

func (l *resourceList) replaceItems(object map[string]any) int {
	node, err := yaml.FromMap(object)
	if err != nil {
		return l.reportError(err)
	}
	l.Items = []*yaml.RNode{node}
	return exitOK
}
