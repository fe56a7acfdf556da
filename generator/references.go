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

// referenceKeys maps keys of pod specs to the kind of the object whose name they hold.
var referenceKeys = map[string]string{"claimName": "PersistentVolumeClaim", "secretName": secret, "secretRef": secret, "secretKeyRef": secret, "imagePullSecrets": secret}

const secret = "Secret"

// needReferences lists the claims and Secrets to which runtimes refer. They must exist in the namespace of each TrainJob.
func (p Platform) needReferences() []Prerequisite {
	users := map[string]map[string]bool{} // names of runtimes, by claim or Secret
	for o := range p.Objects.All() {
		if id := o.ID(); id.Group == v1alpha1.TrainerGroup {
			walkReferences(o.Fields(), func(reference string) { addTo(users, reference, id.Name) })
		}
	}
	var needs []Prerequisite
	for _, reference := range slices.Sorted(maps.Keys(users)) {
		needs = append(needs, Prerequisite{problem.NewPhrase(reference), listAll("in each namespace with TrainJobs of ", users[reference])})
	}
	return needs
}

func walkReferences(node any, found func(reference string)) {
	walk(node, func(key string, value any) {
		for _, name := range namesIn(value) {
			if kind := referenceKeys[key]; kind != "" {
				found(kind + " " + name)
			}
		}
	})
}

// namesIn returns a name, the field "name" of a mapping, or the fields "name" of a list of mappings.
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

// needShared lists the ClusterQueues, the PriorityClasses and the Secrets of TrainJobSources to which objects refer, and
// which no object defines.
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

// sharedReferences returns the ClusterQueue of a LocalQueue, the Secrets of a TrainJobSource, or the PriorityClasses of
// the pods of a runtime. Kubernetes defines the PriorityClasses whose names begin with "system-".
func sharedReferences(o object.Object) []string {
	var found []string
	switch id := o.ID(); {
	case id.Kind == "LocalQueue":
		queue, _ := values.Mapping(o.Fields(), "spec")["clusterQueue"].(string)
		found = append(found, "ClusterQueue "+queue)
	case id.Group == v1alpha1.Group:
		walkReferences(o.Fields(), func(reference string) { found = append(found, reference) })
	case id.Group == v1alpha1.TrainerGroup:
		walk(o.Fields(), func(key string, value any) {
			if name, ok := value.(string); ok && key == "priorityClassName" && !strings.HasPrefix(name, "system-") {
				found = append(found, "PriorityClass "+name)
			}
		})
	}
	return found
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
