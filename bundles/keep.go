package bundles

import (
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/trainyard/trainyard/generator/object"
)

// LossError is returned where a new bundle would take from the cluster what
// TrainJobs may be using, or would never be admitted by it.
type LossError struct {
	Losses []string // one sentence each
}

// Error gives one line per loss.
func (l *LossError) Error() string { return strings.Join(l.Losses, "\n") }

// The labels that say which part of the document an object is for.
const (
	runtimeLabel = "trainyard.dev/runtime"
	tenantLabel  = "trainyard.dev/tenant"
)

// Keep compares a bundle's objects with those that are to replace them. It
// returns a *LossError if a runtime or a tenant would go that is not among
// those removed, such as runtime/mpi or tenant/team-a, or if a part of a runtime would
// change that the API server lets nobody change.
func Keep(old, next object.Set, removed []string) error {
	k := keeper{removed: removed, next: map[object.ID]object.Object{}, tenants: map[string]bool{}}
	for o := range next.All() {
		k.next[o.ID()] = o
		k.tenants[o.Label(tenantLabel)] = true
	}
	for o := range old.All() {
		k.object(o)
	}
	if len(k.losses) == 0 {
		return nil
	}
	return &LossError{Losses: k.losses}
}

type keeper struct {
	removed []string
	next    map[object.ID]object.Object
	tenants map[string]bool // that remain
	losses  []string
}

func (k *keeper) object(o object.Object) {
	runtime, tenant := o.Label(runtimeLabel), o.Label(tenantLabel)
	next, remains := k.next[o.ID()]
	switch {
	case remains && runtime != "":
		k.immutable(runtime, o, next)
	case remains:
	case tenant != "" && slices.Contains(k.removed, "tenant/"+tenant):
	case tenant != "" && !k.tenants[tenant]:
		k.add("tenant/%[1]s would lose all that is generated for it: say so with --remove tenant/%[1]s", tenant)
	case runtime != "" && !slices.Contains(k.removed, "runtime/"+runtime):
		k.add("%s would be removed, and TrainJobs that name it would fail: say so with --remove runtime/%s", o.ID(), runtime)
	}
}

// immutable reports the parts of a runtime that CEL rules in Trainer's and
// JobSet's CRDs hold fast ("Value is immutable"). They look at values that are
// there before and after: adding one or taking it away is allowed.
func (k *keeper) immutable(runtime string, old, next object.Object) {
	before, after := fixedParts(old), fixedParts(next)
	for _, path := range sortedKeys(before) {
		if value, ok := after[path]; ok && !reflect.DeepEqual(before[path], value) {
			k.add("%s: spec.template.spec.%s would change, which the API server refuses: give the runtime a new key, such as %s-v2, and remove %s when no TrainJob names it",
				next.ID(), path, runtime, runtime)
		}
	}
}

// fixedParts are the immutable parts that a runtime has, by path.
func fixedParts(o object.Object) map[string]any {
	spec := at(o.Fields(), "spec", "template", "spec")
	parts := map[string]any{}
	for _, key := range []string{"network", "successPolicy", "failurePolicy", "startupPolicy", "volumeClaimPolicies"} {
		if value, ok := spec[key]; ok {
			parts[key] = value
		}
	}
	jobs, _ := spec["replicatedJobs"].([]any)
	for _, job := range jobs {
		fields, _ := job.(map[string]any)
		if value, ok := fields["dependsOn"]; ok {
			parts[fmt.Sprintf("replicatedJobs[%v].dependsOn", fields["name"])] = value
		}
	}
	return parts
}

// at follows keys through mappings; what is missing reads as empty.
func at(fields map[string]any, keys ...string) map[string]any {
	for _, key := range keys {
		fields, _ = fields[key].(map[string]any)
	}
	return fields
}

func sortedKeys(m map[string]any) []string {
	var keys []string
	for key := range m {
		keys = append(keys, key)
	}
	slices.Sort(keys)
	return keys
}

// add reports a loss once.
func (k *keeper) add(format string, args ...any) {
	if loss := fmt.Sprintf(format, args...); !slices.Contains(k.losses, loss) {
		k.losses = append(k.losses, loss)
	}
}
