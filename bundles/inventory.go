package bundles

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/trainyard/trainyard/api/v1alpha1"
	"github.com/trainyard/trainyard/generator/object"
)

// Entry describes one object on which TrainJobs or tenants depend. All entries together are the
// inventory of a bundle. The inventory is part of the manifest, because every format has a
// manifest. The other files are not a reliable source of the inventory, because users can edit or
// lose them.
type Entry struct {
	Object  string            // kind and name, such as ClusterTrainingRuntime/mpi
	Runtime string            // key of the runtime; empty for other objects
	Tenant  string            // name of the tenant; empty for objects of no tenant
	Fixed   map[string]string // digests of the immutable fields, by the path of the field
}

// Parts returns the runtime and the tenant to which the object belongs. If the object is a queue,
// the result also contains the queue itself. For example, the result for a LocalQueue can be
// queue/team-a/default and tenant/team-a.
func (e Entry) Parts() []string {
	var parts []string
	if queue := e.queueName(); queue != "" {
		parts = append(parts, "queue/"+queue)
	}
	if e.Runtime != "" {
		parts = append(parts, "runtime/"+e.Runtime)
	}
	if e.Tenant != "" {
		parts = append(parts, "tenant/"+e.Tenant)
	}
	return parts
}

// queueName returns the name of a ClusterQueue or LocalQueue, such as research or team-a/default. The result is empty
// for objects of other kinds.
func (e Entry) queueName() string {
	if kind, name, _ := strings.Cut(e.Object, "/"); kind == "ClusterQueue" || kind == "LocalQueue" {
		return name
	}
	return ""
}

const (
	runtimeLabel = v1alpha1.RuntimeLabel
	tenantLabel  = v1alpha1.TenantLabel
)

// Inventory returns an entry for each queue, and for each object of a runtime or a tenant, in the order of the set.
func Inventory(set object.Set) []Entry {
	var entries []Entry
	fixed := map[*object.Shape]map[string]string{}
	for o := range set.All() {
		e := Entry{Object: strings.ReplaceAll(o.ID().String(), " ", "/"), Runtime: o.Label(runtimeLabel), Tenant: o.Label(tenantLabel)}
		if len(e.Parts()) == 0 {
			continue
		}
		shape, _ := o.Shape()
		if _, known := fixed[shape]; !known {
			fixed[shape] = immutableFields(shape.Fields())
		}
		if e.Fixed = fixed[shape]; o.ID().Kind == "LocalQueue" {
			e.Fixed = map[string]string{"clusterQueue": fingerprint(mappingAt(o.Fields(), "spec")["clusterQueue"])}
		}
		entries = append(entries, e)
	}
	return entries
}

// immutableFields returns digests of the immutable fields of a runtime. CEL rules in the CRDs of Trainer and JobSet refuse
// changes of immutable fields ("Value is immutable"). These fields contain no parameters, so they are equal in all objects
// with the same object.Shape. Inventory therefore computes the digests only once for each shape.
func immutableFields(fields map[string]any) map[string]string {
	spec := mappingAt(fields, "spec", "template", "spec")
	digests := map[string]string{}
	for _, key := range []string{"network", "successPolicy", "failurePolicy", "startupPolicy", "volumeClaimPolicies"} {
		if value, ok := spec[key]; ok {
			digests[key] = fingerprint(value)
		}
	}
	jobs, _ := spec["replicatedJobs"].([]any)
	for _, job := range jobs {
		fields, _ := job.(map[string]any)
		if value, ok := fields["dependsOn"]; ok {
			digests[fmt.Sprintf("replicatedJobs[%v].dependsOn", fields["name"])] = fingerprint(value)
		}
	}
	return digests
}

func fingerprint(value any) string {
	text, _ := json.Marshal(value) // encoding decoded JSON cannot fail
	return fmt.Sprintf("%x", sha256.Sum256(text))[:16]
}

// mappingAt returns the mapping at a path in the argument "fields". The argument "keys" contains the keys of this
// path, from the outermost to the innermost key. The result is empty if a key is missing.
func mappingAt(fields map[string]any, keys ...string) map[string]any {
	for _, key := range keys {
		fields, _ = fields[key].(map[string]any)
	}
	return fields
}

// formatEntry formats an entry as a comment in the manifest, so that users can pass the manifest to sha256sum -c, which
// ignores comments.
func (e Entry) formatEntry() string {
	words := []string{"#", e.Object}
	if e.Runtime != "" {
		words = append(words, "runtime="+e.Runtime)
	}
	if e.Tenant != "" {
		words = append(words, "tenant="+e.Tenant)
	}
	for _, path := range slices.Sorted(maps.Keys(e.Fixed)) {
		words = append(words, path+"="+e.Fixed[path])
	}
	return strings.Join(words, " ") + "\n"
}

// ReadInventory returns the entries in a manifest file. ReadInventory returns no entries if the file cannot be read.
func ReadInventory(file string) []Entry {
	text, _ := readManifest(os.Open(file))
	return parseInventory(text)
}

func parseInventory(manifest []byte) []Entry {
	var entries []Entry
	for line := range bytes.Lines(manifest) {
		words := strings.Fields(string(line))
		if len(words) < 2 || words[0] != "#" {
			continue
		}
		e := Entry{Object: words[1], Fixed: map[string]string{}}
		for _, word := range words[2:] {
			switch key, value, _ := strings.Cut(word, "="); key {
			case "runtime":
				e.Runtime = value
			case "tenant":
				e.Tenant = value
			default:
				e.Fixed[key] = value
			}
		}
		entries = append(entries, e)
	}
	return entries
}
