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

	"github.com/trainyard/trainyard/generator/object"
)

// Entry is what a bundle's manifest says of one object that TrainJobs or teams
// depend on. It stands there, and is not read from the files, because those may be
// edited, lost or of any format.
type Entry struct {
	Object  string            // kind and name, such as ClusterTrainingRuntime/mpi
	Runtime string            // the runtime that the object is, if it is one
	Tenant  string            // the tenant that it is for, if it is for one
	Fixed   map[string]string // digests of the parts that the API server lets nobody change, by path
}

// Parts are those of the document that the object is for, such as runtime/mpi and tenant/team-a.
func (e Entry) Parts() []string {
	var parts []string
	if e.Runtime != "" {
		parts = append(parts, "runtime/"+e.Runtime)
	}
	if e.Tenant != "" {
		parts = append(parts, "tenant/"+e.Tenant)
	}
	return parts
}

// The labels that say which part of the document an object is for.
const (
	runtimeLabel = "trainyard.dev/runtime"
	tenantLabel  = "trainyard.dev/tenant"
)

// Inventory lists the objects of a set that somebody depends on, in their order.
func Inventory(set object.Set) []Entry {
	var entries []Entry
	fixed := map[*object.Shape]map[string]string{}
	for o := range set.All() {
		e := Entry{Object: strings.ReplaceAll(o.ID().String(), " ", "/"), Runtime: o.Label(runtimeLabel), Tenant: o.Label(tenantLabel)}
		if e.Runtime == "" && e.Tenant == "" {
			continue
		}
		shape, _ := o.Shape()
		if _, known := fixed[shape]; !known {
			fixed[shape] = fixedParts(shape.Fields())
		}
		e.Fixed = fixed[shape]
		entries = append(entries, e)
	}
	return entries
}

// fixedParts are digests of what CEL rules in Trainer's and JobSet's CRDs hold
// fast in a runtime ("Value is immutable"). No leaf of a shape lies in them.
func fixedParts(fields map[string]any) map[string]string {
	spec := at(fields, "spec", "template", "spec")
	parts := map[string]string{}
	for _, key := range []string{"network", "successPolicy", "failurePolicy", "startupPolicy", "volumeClaimPolicies"} {
		if value, ok := spec[key]; ok {
			parts[key] = fingerprint(value)
		}
	}
	jobs, _ := spec["replicatedJobs"].([]any)
	for _, job := range jobs {
		fields, _ := job.(map[string]any)
		if value, ok := fields["dependsOn"]; ok {
			parts[fmt.Sprintf("replicatedJobs[%v].dependsOn", fields["name"])] = fingerprint(value)
		}
	}
	return parts
}

func fingerprint(value any) string {
	text, _ := json.Marshal(value) // decoded JSON always marshals
	return fmt.Sprintf("%x", sha256.Sum256(text))[:16]
}

// at follows keys through mappings; what is missing reads as empty.
func at(fields map[string]any, keys ...string) map[string]any {
	for _, key := range keys {
		fields, _ = fields[key].(map[string]any)
	}
	return fields
}

// line writes an entry as a comment of the manifest, which sha256sum passes over.
func (e Entry) line() string {
	var b strings.Builder
	fmt.Fprintf(&b, "# %s", e.Object)
	if e.Runtime != "" {
		fmt.Fprintf(&b, " runtime=%s", e.Runtime)
	}
	if e.Tenant != "" {
		fmt.Fprintf(&b, " tenant=%s", e.Tenant)
	}
	for _, path := range slices.Sorted(maps.Keys(e.Fixed)) {
		fmt.Fprintf(&b, " %s=%s", path, e.Fixed[path])
	}
	return b.String() + "\n"
}

// InventoryOf reads the entries of a manifest's file; there are none where it cannot be read.
func InventoryOf(file string) []Entry {
	text, err := readManifest(os.Open(file))
	if err != nil {
		return nil
	}
	return ReadInventory(text)
}

// ReadInventory reads the entries of a manifest.
func ReadInventory(manifest []byte) []Entry {
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
