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
	// TrainJob holds the new object. For an update, the field Before holds the old object. For a new TrainJob, the
	// field Before is nil.
	TrainJob, Before map[string]any
	// NamespaceLabels holds the labels of the TrainJob's namespace, or nil if the labels are unknown.
	NamespaceLabels map[string]string
}

// Check evaluates the rules for a request. If the user is exempt, Check returns no denials and no errors. For an
// update, Check drops the denials of rules that do not apply to the change (see changesField). A TrainJob contains its
// patches in spec.podTemplateOverrides or spec.runtimePatches. Check ignores the contents of patches that the old
// TrainJob already contained, but counts their size. Check also returns each error that Read returns for the new
// object.
func (r Reader) Check(request Request, p Parameters) ([]Denial, field.ErrorList) {
	if slices.Contains(p.Exempt, request.User) {
		return nil, nil
	}
	whole, typeErrors := r.Read(request.TrainJob)
	job, _ := r.Read(request.withoutOldPatches())
	job.Size = whole.Size
	if request.keepsSize() {
		job.Size, job.Overrides = Size{}, 0
	}
	job.KueueSettings = slices.DeleteFunc(job.KueueSettings, request.keepsSetting)
	job.NamespaceLabels, job.Exists = request.NamespaceLabels, request.Before != nil
	denials := Check(job, p)
	if oversized := len(denials) > 0 && denials[0].Rule == RuleOversizedJob; request.Before != nil && !oversized {
		before, _ := r.Read(request.Before)
		if len(job.Reserved) < len(before.Reserved) {
			denials = append(denials, Denial{RuleReservedMetadata, "metadata", "only controllers and admins may remove finalizers and controlling owners"})
		}
		denials = append(denials, request.removedQueuePatches()...)
		denials = append(denials, request.manualResume(p)...)
		slices.SortStableFunc(denials, func(a, b Denial) int { return ruleOrder(a.Rule) - ruleOrder(b.Rule) })
		denials = slices.DeleteFunc(denials, func(d Denial) bool { return !request.changesField(d.Rule, before, job) })
	}
	return denials, typeErrors
}

// keepsSetting reports whether a request leaves a label or annotation unchanged. If the request creates a TrainJob,
// keepsSetting returns false for each label and annotation of the TrainJob.
func (r Request) keepsSetting(setting Named) bool {
	before, now := value{content: r.Before}.get("metadata"), value{content: r.TrainJob}.get("metadata")
	for _, key := range []string{"labels", "annotations"} {
		if was, is := before.get(key, setting.Name), now.get(key, setting.Name); is.isSet() && !reflect.DeepEqual(was.content, is.content) {
			return false
		}
	}
	return true
}

func ruleOrder(rule Rule) int {
	return slices.IndexFunc(Rules(), func(d Definition) bool { return d.Rule == rule })
}

// changesField reports whether a rule applies to an update. Most rules apply if the update changes a field of the spec
// other than "suspend". RuleUnlistedQueue, RuleUnlistedPriorityClass and RuleReservedMetadata apply if the update
// changes the metadata that they check. For RuleUnlistedKueueSetting and RuleManualResume, changesField always returns
// true, because Check evaluates these two rules only for values that the update changes.
func (r Request) changesField(rule Rule, before, job Job) bool {
	switch rule {
	case RuleUnlistedQueue:
		return before.Queue != job.Queue
	case RuleUnlistedPriorityClass:
		return before.PriorityClass != job.PriorityClass
	case RuleUnlistedKueueSetting, RuleManualResume: // Check evaluates these rules only for changed values
		return true
	case RuleReservedMetadata:
		return !reflect.DeepEqual(before.Reserved, job.Reserved)
	}
	return !r.keepsSpec()
}

// keepsSize reports whether an update keeps the spec (except the field "suspend"), the labels, the
// annotations and the owners. RuleOversizedJob limits the size of these parts.
func (r Request) keepsSize() bool {
	if r.Before == nil || !r.keepsSpec() {
		return false
	}
	return reflect.DeepEqual(sizedParts(r.Before)[1:], sizedParts(r.TrainJob)[1:]) // the first part is the spec
}

// keepsSpec reports whether an update leaves the spec unchanged. keepsSpec ignores changes of the
// field "suspend".
func (r Request) keepsSpec() bool {
	was, is := maps.Clone(specOf(r.Before)), maps.Clone(specOf(r.TrainJob))
	delete(was, "suspend")
	delete(is, "suspend")
	return reflect.DeepEqual(was, is)
}

// withoutOldPatches returns a copy of the updated TrainJob. In the copy, an empty patch replaces each patch that the
// TrainJob had before the update. An exempt controller such as Kueue can write patches that users may not write.
// Without the replacement, such a patch would make the rules refuse later updates by users.
func (r Request) withoutOldPatches() map[string]any {
	spec, was := maps.Clone(specOf(r.TrainJob)), specOf(r.Before)
	for _, key := range []string{overridesKey, patchesKey} {
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
