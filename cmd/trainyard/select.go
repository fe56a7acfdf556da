package main

import (
	"slices"
	"strings"

	"github.com/trainyard/trainyard/api/v1alpha1"
	"github.com/trainyard/trainyard/generator"
	"github.com/trainyard/trainyard/generator/object"
)

// componentLabels maps the kind of a component to the label that selects the objects of the component. A component is a
// runtime or a tenant of the document, written as runtime/NAME or tenant/NAME.
var componentLabels = map[string]string{
	"runtime": v1alpha1.RuntimeLabel,
	"tenant":  v1alpha1.TenantLabel,
}

// componentForms describes the values of the flags that accept components. The keys of the map are the flags. The flag
// --remove also accepts queues.
var componentForms = map[string]string{
	"--only":   "runtime/NAME or tenant/NAME",
	"--remove": "runtime/NAME, tenant/NAME, queue/NAME or queue/TENANT/NAME",
}

func checkComponents(flag string, components []string) error {
	for _, component := range components {
		kind, name, _ := strings.Cut(component, "/")
		queue := kind == "queue" && flag == "--remove"
		if name == "" || !queue && (componentLabels[kind] == "" || strings.Contains(name, "/")) {
			return usageErrorf("%s %q: want %s", flag, component, componentForms[flag])
		}
	}
	return nil
}

// selectComponents selects the objects of the components in the flag --only. If the flag --only is not
// set, selectComponents selects all objects.
func selectComponents(platforms []generator.Platform, components []string) ([]generator.Platform, error) {
	if len(components) == 0 {
		return platforms, nil
	}
	known := componentsOf(platforms)
	for _, component := range components {
		if err := checkAllowed(component, known); err != nil {
			return nil, usageErrorf("--only %q: %w", component, err)
		}
	}
	selected := slices.Clone(platforms)
	for i, p := range platforms {
		selected[i].Objects = p.Objects.Select(func(o object.Object) bool {
			return slices.ContainsFunc(components, func(component string) bool { return belongs(o, component) })
		})
	}
	return selected, nil
}

func belongs(o object.Object, component string) bool {
	kind, name, _ := strings.Cut(component, "/")
	return o.Label(componentLabels[kind]) == name
}

func componentsOf(platforms []generator.Platform) []string {
	var known []string
	for _, p := range platforms {
		known = append(known, p.Sections...)
	}
	slices.Sort(known)
	return slices.Compact(known)
}
