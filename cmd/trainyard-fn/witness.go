package main

import (
	"slices"

	kubernetes "sigs.k8s.io/yaml"
)

// kustomize leaves out functions that it may not run, and says nothing. A generator therefore leaves
// an object that says it has run: a kustomization takes something from it, and fails without it. As
// it is local, kustomize drops it in the end.
const witnessKind = "FunctionRun"

// generates tells whether the host wants objects made: it sends nothing but what is its own then.
func (l *resourceList) generates() bool {
	return len(l.Items) > 0 && !slices.ContainsFunc(l.Items, func(item map[string]any) bool { return !local(item) })
}

// witness adds the object that says what has run, in the place of what the host has sent.
func (l *resourceList) witness(function string) int {
	l.keep(func(map[string]any) bool { return false })
	return l.add(map[string]any{
		"apiVersion": "trainyard.dev/v1alpha1", "kind": witnessKind, "function": function,
		"metadata": map[string]any{
			"name":        refOf(l.FunctionConfig).Name,
			"annotations": map[string]any{localAnnotation: "true"},
		},
	})
}

// misplaced is what a validator leaves in kustomize, which ignores it. If the document stands under
// transformers by mistake, kustomize takes it for all that is left: no cluster knows its kind, so
// that nobody can apply it and prune everything.
func (l *resourceList) misplaced() int {
	l.keep(func(map[string]any) bool { return false })
	return l.add(map[string]any{
		"apiVersion": "trainyard.dev/v1alpha1", "kind": "MisplacedValidator",
		"metadata": map[string]any{"name": refOf(l.FunctionConfig).Name},
		"says":     "this document validates, and belongs under validators of the kustomization: under transformers it stands for all objects",
	})
}

func (l *resourceList) add(object map[string]any) int {
	text, err := kubernetes.Marshal([]any{object})
	if err != nil {
		return l.blame(err)
	}
	l.made = append(l.made, text...)
	return exitOK
}
