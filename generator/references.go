package generator

import (
	"maps"
	"slices"
	"strings"

	"github.com/trainyard/trainyard/api/v1alpha1"
	"github.com/trainyard/trainyard/generator/internal/values"
	"github.com/trainyard/trainyard/generator/object"
	"github.com/trainyard/trainyard/generator/problem"
)

// referenceKeys maps keys of pod specs to kinds of objects. For example, the value of the key "claimName"
// is the name of a PersistentVolumeClaim.
var referenceKeys = map[string]string{"claimName": "PersistentVolumeClaim", "secretName": secret, "secretRef": secret, "secretKeyRef": secret, "imagePullSecrets": secret}

const secret = "Secret"

// needReferences lists the PersistentVolumeClaims and Secrets to which runtimes refer. The PersistentVolumeClaims and
// Secrets of a runtime must exist in the namespace of each TrainJob that uses the runtime.
func (p Platform) needReferences() []Prerequisite {
	users := map[string]map[string]bool{} // names of runtimes, by claim or Secret
	for o := range p.Objects.All() {
		if id := o.ID(); id.Group == v1alpha1.TrainerGroup {
			for _, reference := range podReferences(o) {
				addTo(users, reference, id.Name)
			}
		}
	}
	var needs []Prerequisite
	for _, reference := range slices.Sorted(maps.Keys(users)) {
		needs = append(needs, Prerequisite{problem.NewPhrase(reference), listAll("in each namespace with TrainJobs of ", users[reference])})
	}
	return needs
}

// podReferences returns the PersistentVolumeClaims and Secrets to which an object refers.
func podReferences(o object.Object) []string {
	return find(o, referencesKey, isReferenceKey, func(key, name string) string { return referenceKeys[key] + " " + name })
}

func isReferenceKey(key string) bool { return referenceKeys[key] != "" }

func isPriorityClass(key string) bool { return key == "priorityClassName" }

// derivedKey is the type of the keys under which a shape stores the results of the function "find".
type derivedKey string

const (
	referencesKey      derivedKey = "references"
	priorityClassesKey derivedKey = "priority classes"
)

// find is the function that searches an object for the keys that the function "wanted" accepts. The values of these
// keys contain names (see namesIn). For each of these names, the function "find" calls the function "describe". The
// function "find" returns the results of these calls. A platform can have thousands of large runtimes. Many of these
// runtimes can have the same shape. Objects of the same shape differ only in the values of parameters. If the
// parameters cannot change the results, the function "find" searches each shape only once, and caches the results in
// the shape. The argument "derived" is the key of the cached results.
func find(o object.Object, derived derivedKey, wanted func(key string) bool, describe func(key, name string) string) []string {
	search := func(fields map[string]any) []string {
		var found []string
		walk(fields, func(key string, value any) {
			if !wanted(key) {
				return
			}
			for _, name := range namesIn(value) {
				found = append(found, describe(key, name))
			}
		})
		return found
	}
	shape, parameters := o.Shape()
	for i, path := range shape.Parameters() {
		isBelow := slices.ContainsFunc(path, func(step any) bool { key, _ := step.(string); return wanted(key) })
		if isBelow || isCollection(parameters[i]) {
			return search(o.Fields())
		}
	}
	found, _ := shape.Derive(derived, func() any { return search(shape.Fields()) }).([]string)
	return found
}

// isCollection reports whether a value can contain keys.
func isCollection(value any) bool {
	switch value.(type) {
	case map[string]any, []any:
		return true
	}
	return false
}

// namesIn returns all names that a value contains. The value is a name, a mapping with the field "name", or a list of
// such mappings.
func namesIn(value any) []string {
	switch value := value.(type) {
	case string:
		return []string{value}
	case map[string]any:
		if name, ok := value["name"].(string); ok {
			return []string{name}
		}
	case []any:
		var names []string
		for _, item := range values.Mappings(map[string]any{"": value}, "") {
			names = append(names, namesIn(item)...)
		}
		return names
	}
	return nil
}

// needShared lists ClusterQueues, PriorityClasses and the Secrets of TrainJobSources, if generated objects refer to
// them but do not define them.
func (p Platform) needShared() []Prerequisite {
	defined, users := map[string]bool{}, map[string]map[string]bool{}
	for o := range p.Objects.All() {
		id := o.ID()
		defined[id.Kind+" "+id.Name] = true
		for _, reference := range sharedReferences(o) {
			addTo(users, reference, id.Kind+" "+strings.TrimPrefix(id.Namespace+"/"+id.Name, "/"))
		}
	}
	var needs []Prerequisite
	for _, reference := range slices.Sorted(maps.Keys(users)) {
		if !defined[reference] {
			needs = append(needs, Prerequisite{problem.NewPhrase(reference), listAll("used by ", users[reference])})
		}
	}
	return needs
}

// sharedReferences returns the ClusterQueue if the object is a LocalQueue, and the Secrets if the object is a
// TrainJobSource. If the object is a runtime, sharedReferences returns the PriorityClasses of the runtime's pods. The
// result omits PriorityClasses whose names begin with "system-", because Kubernetes itself defines them.
func sharedReferences(o object.Object) []string {
	switch id := o.ID(); {
	case id.Kind == "LocalQueue":
		queue, _ := values.Mapping(o.Fields(), "spec")["clusterQueue"].(string)
		return []string{"ClusterQueue " + queue}
	case id.Group == v1alpha1.Group:
		return podReferences(o)
	case id.Group == v1alpha1.TrainerGroup:
		classes := find(o, priorityClassesKey, isPriorityClass, func(_, name string) string { return "PriorityClass " + name })
		return slices.DeleteFunc(slices.Clone(classes), func(class string) bool { return strings.HasPrefix(class, "PriorityClass system-") })
	}
	return nil
}

// walk calls a function for each key and value of all mappings below a node, at any depth.
func walk(node any, found func(key string, value any)) {
	switch node := node.(type) {
	case map[string]any:
		for key, value := range node {
			found(key, value)
			walk(value, found)
		}
	case []any:
		for _, item := range node {
			walk(item, found)
		}
	}
}
