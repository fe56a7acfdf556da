package guard

import (
	"maps"
	"reflect"
	"slices"

	"k8s.io/apimachinery/pkg/util/validation/field"
)

// Request is a request to create or update a TrainJob, as decoded JSON.
type Request struct {
	// User is the name of the user who sends the request.
	User string
	// TrainJob is the new object. Before is the object that an update replaces, or nil for a new TrainJob.
	TrainJob, Before map[string]any
}

// Check evaluates the rules for a request. It allows all requests of exempt users, and all updates that change no field
// of spec except suspend. It ignores patches that the TrainJob had before an update. It also returns an error for each
// value of a wrong type.
func (r Reader) Check(request Request, p Parameters) ([]Denial, field.ErrorList) {
	if slices.Contains(p.Exempt, request.User) || request.Before != nil && request.keepsSpec() {
		return nil, nil
	}
	job, typeErrors := r.Read(request.withoutOldPatches())
	return Check(job, p), typeErrors
}

// keepsSpec reports whether an update changes no field of spec except suspend.
func (r Request) keepsSpec() bool {
	was, is := maps.Clone(specOf(r.Before)), maps.Clone(specOf(r.TrainJob))
	delete(was, "suspend")
	delete(is, "suspend")
	return reflect.DeepEqual(was, is)
}

// withoutOldPatches replaces each patch that the TrainJob had before the update with an empty patch. The rules do not
// apply to old patches, because Kueue can have written them.
func (r Request) withoutOldPatches() map[string]any {
	spec, was := maps.Clone(specOf(r.TrainJob)), specOf(r.Before)
	for _, key := range []string{"podTemplateOverrides", "runtimePatches"} {
		patches, _ := spec[key].([]any)
		old, _ := was[key].([]any)
		if len(old) == 0 || len(patches) == 0 {
			continue
		}
		patches = slices.Clone(patches)
		for i, patch := range patches {
			if slices.ContainsFunc(old, func(o any) bool { return reflect.DeepEqual(o, patch) }) {
				patches[i] = map[string]any{}
			}
		}
		spec[key] = patches
	}
	job := maps.Clone(r.TrainJob)
	if spec != nil {
		job["spec"] = spec
	}
	return job
}

func specOf(trainJob map[string]any) map[string]any {
	spec, _ := trainJob["spec"].(map[string]any)
	return spec
}
