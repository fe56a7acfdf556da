package bundles

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// LossError is returned where a new bundle would take from the cluster what
// TrainJobs may be using, or would never be admitted by it.
type LossError struct {
	Losses []string // one sentence each
}

// Error gives one line per loss.
func (l *LossError) Error() string { return strings.Join(l.Losses, "\n") }

// Change is what becomes of a bundle's objects.
type Change struct {
	Old, New []Entry
	Document []string // the parts that the document still has, such as runtime/mpi and tenant/team-a
	Removed  []string // the parts that may go
}

// Keep returns a *LossError if a runtime or a tenant would go that is not among
// those removed, or if a part of a runtime would change that the API server lets
// nobody change. Unused are those of the removed that are not there to go.
func (c Change) Keep() (unused []string, err error) {
	k := keeper{Change: c, next: map[string]Entry{}, used: map[string]bool{}}
	for _, e := range c.New {
		k.next[e.Object] = e
	}
	for _, e := range c.Old {
		k.entry(e)
	}
	for _, part := range c.Removed {
		if !k.used[part] {
			unused = append(unused, part)
		}
	}
	if len(k.losses) > 0 {
		return unused, &LossError{Losses: k.losses}
	}
	return unused, nil
}

// Going are the parts of which some object goes, such as tenant/team-a.
func (c Change) Going() []string {
	next := map[string]bool{}
	for _, e := range c.New {
		next[e.Object] = true
	}
	var parts []string
	for _, e := range c.Old {
		if !next[e.Object] {
			parts = append(parts, e.Parts()...)
		}
	}
	slices.Sort(parts)
	return slices.Compact(parts)
}

type keeper struct {
	Change
	next   map[string]Entry
	used   map[string]bool
	losses []string
}

func (k *keeper) entry(e Entry) {
	next, remains := k.next[e.Object]
	if remains {
		k.immutable(e, next)
		return
	}
	runtime, tenant := "runtime/"+e.Runtime, "tenant/"+e.Tenant
	allowed := e.Runtime != "" && k.allows(runtime)
	allowed = e.Tenant != "" && k.allows(tenant) || allowed
	switch {
	case allowed:
	case e.Tenant != "" && !slices.Contains(k.Document, tenant):
		k.add("%[1]s would be removed, with all that is generated for it: say so with --remove %[1]s", tenant)
	case e.Runtime != "":
		k.add("%s would be removed, and TrainJobs that name it would fail: say so with --remove %s", strings.Replace(e.Object, "/", " ", 1), runtime)
	}
}

// allows tells whether a part may go, and remembers that it did.
func (k *keeper) allows(part string) bool {
	if !slices.Contains(k.Removed, part) {
		return false
	}
	k.used[part] = true
	return true
}

// immutable reports the parts that CEL rules hold fast. They look at values that
// are there before and after: adding one or taking it away is allowed.
func (k *keeper) immutable(old, next Entry) {
	for _, path := range slices.Sorted(maps.Keys(old.Fixed)) {
		if value, ok := next.Fixed[path]; ok && value != old.Fixed[path] {
			k.add("%s: spec.template.spec.%s would change, which the API server refuses: give the runtime a new key, such as %s-v2, and remove %[3]s when no TrainJob names it",
				strings.Replace(old.Object, "/", " ", 1), path, old.Runtime)
		}
	}
}

// add reports a loss once.
func (k *keeper) add(format string, args ...any) {
	if loss := fmt.Sprintf(format, args...); !slices.Contains(k.losses, loss) {
		k.losses = append(k.losses, loss)
	}
}
