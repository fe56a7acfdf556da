package bundles

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// RemovalError reports that a bundle would change an immutable field, or would remove objects on which TrainJobs can
// depend.
type RemovalError struct {
	Problems []string // one sentence each
}

// Error returns one line per problem.
func (r *RemovalError) Error() string { return strings.Join(r.Problems, "\n") }

// Change compares the objects of two bundles.
type Change struct {
	Old, New []Entry
	Document []string // runtimes and tenants in the document, such as runtime/mpi and tenant/team-a
	Removed  []string // runtimes, tenants and queues that the user allows the run to remove
}

// Check returns a *RemovalError if an immutable field would change. Check also returns a *RemovalError if a runtime,
// tenant or queue would be removed, and the field Removed does not allow this. Each entry of the field Removed names
// one runtime, tenant or queue that may be removed. If an object of the named runtime, tenant or queue would be
// removed, Check adds the entry to the result "used".
func (c Change) Check() (used []string, err error) {
	next := c.next()
	var problems []string
	for _, old := range c.Old {
		if e, remains := next[old.Object]; remains {
			problems = append(problems, immutableChanges(old, e)...)
			continue
		}
		allowed := slices.DeleteFunc(old.Parts(), func(part string) bool { return !slices.Contains(c.Removed, part) })
		if used = append(used, allowed...); len(allowed) > 0 {
			continue
		}
		// All objects of a removed tenant cause the same message, so the message is added only once.
		if problem := c.removalMessage(old); problem != "" && !slices.Contains(problems, problem) {
			problems = append(problems, problem)
		}
	}
	if len(problems) > 0 {
		return used, &RemovalError{problems}
	}
	return used, nil
}

func (c Change) next() map[string]Entry {
	next := map[string]Entry{}
	for _, e := range c.New {
		next[e.Object] = e
	}
	return next
}

// removalMessage returns the message about an object that would be removed. Three types of objects have a message:
// queues, objects of runtimes, and objects of a tenant that is no longer in the document. For all other objects, the
// message is empty.
func (c Change) removalMessage(old Entry) string {
	switch tenant := "tenant/" + old.Tenant; {
	case old.Tenant != "" && !slices.Contains(c.Document, tenant):
		return fmt.Sprintf("%[1]s would be removed, with all objects generated for this tenant: allow this with --remove %[1]s", tenant)
	case old.Runtime != "":
		return fmt.Sprintf("%s would be removed, and TrainJobs that name it would fail: allow this with --remove runtime/%s", old.describeEntry(), old.Runtime)
	case old.queueName() != "":
		return fmt.Sprintf("%s would be removed, and TrainJobs that wait in it would never start: allow this with --remove queue/%s", old.describeEntry(), old.queueName())
	default:
		return ""
	}
}

// describeEntry returns the kind and the name of the object, such as LocalQueue team-a/default.
func (e Entry) describeEntry() string { return strings.Replace(e.Object, "/", " ", 1) }

// RemovedParts returns the runtimes, tenants and queues to which removed objects belong, such as tenant/team-a.
func (c Change) RemovedParts() []string {
	next := c.next()
	var parts []string
	for _, e := range c.Old {
		if _, remains := next[e.Object]; !remains {
			parts = append(parts, e.Parts()...)
		}
	}
	slices.Sort(parts)
	return slices.Compact(parts)
}

// immutableChanges returns a message for each immutable field whose value would change. Adding or removing an immutable
// field gives no message, because the CEL rules of the CRDs allow both.
func immutableChanges(old, next Entry) []string {
	var problems []string
	for _, path := range slices.Sorted(maps.Keys(old.Fixed)) {
		if value, ok := next.Fixed[path]; !ok || value == old.Fixed[path] {
			continue
		}
		field, advice := "spec.template.spec."+path, fmt.Sprintf("keep this runtime, add a runtime with a new key, such as %[1]s-v2, and remove %[1]s when no TrainJob names it", old.Runtime)
		if old.queueName() != "" {
			field, advice = "spec."+path, fmt.Sprintf("keep this queue, add a queue with a new key, such as %[1]s-v2, and remove %[1]s when no TrainJob waits in it", strings.TrimPrefix(old.queueName(), old.Tenant+"/"))
		}
		problems = append(problems, fmt.Sprintf("%s: %s would change, but the API server refuses this change: %s", old.describeEntry(), field, advice))
	}
	return problems
}
