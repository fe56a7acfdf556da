package main

import (
	"slices"

	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/trainyard/trainyard/api/v1alpha1"
)

// isGenerator reports whether kustomize runs the function as a generator. A generator gets no items except the
// functionConfig.
func (l *resourceList) isGenerator() bool {
	return len(l.Items) > 0 && !slices.ContainsFunc(l.Items, func(item *yaml.RNode) bool { return !isLocal(item) })
}

// leaveMarker replaces all items with a single object, which is called the marker. The marker records which function
// ran. kustomize silently skips a function that it has no permission to run. A skipped function leaves no marker. The
// kustomization should contain an entry under "replacements" that reads the marker (see docs/kustomize.md). If the
// marker is missing, kustomize cannot carry out this entry, so the build fails. An annotation declares the marker as a
// local object. kustomize therefore removes the marker from its output at the end.
func (l *resourceList) leaveMarker(function string) int {
	return l.replaceItems(map[string]any{
		"apiVersion": v1alpha1.APIVersion, "kind": "FunctionRun", "function": function,
		"metadata": map[string]any{
			"name":        l.FunctionConfig.GetName(),
			"annotations": map[string]any{localConfigAnnotation: "true"},
		},
	})
}

// leaveMisplacedValidator replaces the items with one object of an unknown kind, which no API server accepts. If a user
// lists a validator in the list "transformers" by mistake, the output of the validator becomes the whole output of
// kustomize. An empty output would be dangerous. If a user applied an empty output with pruning, all objects would be
// deleted. The API server refuses the object of the unknown kind, so applying the output fails and deletes nothing.
func (l *resourceList) leaveMisplacedValidator() int {
	return l.replaceItems(map[string]any{
		"apiVersion": v1alpha1.APIVersion, "kind": "MisplacedValidator",
		"metadata": map[string]any{"name": l.FunctionConfig.GetName()},
		"message":  "the kustomization lists this validator in the field transformers, so the output of the validator has replaced all objects: move the validator to the field validators",
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
