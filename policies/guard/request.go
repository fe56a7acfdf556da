package guard

import (
	"maps"
	"reflect"
	"slices"

	"k8s.io/apimachinery/pkg/util/validation/field"
)

// Request is a TrainJob that somebody writes into the cluster, as decoded JSON.
type Request struct {
	// User is who writes it.
	User string
	// TrainJob is what is written, and Before what it takes the place of; nil where it is a new one.
	TrainJob, Before map[string]any
}

// Judge reads and judges a request. Who is exempt is not judged, nor is an update that leaves the
// spec as it was, but for suspend; nor are patches that were there before.
func (r Reader) Judge(request Request, p Parameters) ([]Denial, field.ErrorList) {
	if slices.Contains(p.Exempt, request.User) || request.Before != nil && request.keepsSpec() {
		return nil, nil
	}
	job, wrong := r.Read(request.fresh())
	return Judge(job, p), wrong
}

// keepsSpec tells whether nothing of the spec changes but suspend.
func (r Request) keepsSpec() bool {
	was, is := maps.Clone(specOf(r.Before)), maps.Clone(specOf(r.TrainJob))
	delete(was, "suspend")
	delete(is, "suspend")
	return reflect.DeepEqual(was, is)
}

// fresh is the TrainJob with nothing in the place of each patch that was there before: Kueue may have written that.
func (r Request) fresh() map[string]any {
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
