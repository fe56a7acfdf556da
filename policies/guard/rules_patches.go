package guard

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/trainyard/trainyard/api/v1alpha1"
)

// runtimeVolumes are the names of volumes that Trainer and the shipped runtimes use. A patch may not add a volume with
// one of these names, because the added volume would replace the runtime's volume.
var runtimeVolumes = []string{"home", "initializer", "mpi-hostfile", "mpi-run", "mpi-ssh-auth", "shm", "tmp"}

// storagePrefix is a reserved prefix: the name of every storage volume in a runtime begins with storagePrefix.
const storagePrefix = "storage-"

// isRuntimeVolume reports whether a name is reserved for volumes of runtimes.
func isRuntimeVolume(volume string) bool {
	return slices.Contains(runtimeVolumes, volume) || strings.HasPrefix(volume, storagePrefix)
}

func disallowedVolume(job Job, p Parameters) field.ErrorList {
	return append(checkDisallowed(RuleDisallowedVolume)(job, p), forbidEach(job.Volumes, isRuntimeVolume,
		"%s is a name for volumes of the runtime: write a name other than "+strings.Join(runtimeVolumes, ", ")+" and "+storagePrefix+"*")...)
}

// patchTargets lists the jobs and containers that patches may change. Each key is a kind of target, and each value
// lists the names of the allowed jobs or containers. The allowed jobs and containers are those of the shipped runtimes,
// except the init container disruption-check. The list under the key "env of container" is empty, because Trainer
// refuses every patch that sets environment variables of a main container.
var patchTargets = map[string][]string{
	"job":           {"dataset-initializer", "launcher", "model-initializer", "node"},
	"container":     {"dataset-initializer", "model-initializer", "node"},
	"initContainer": {"identity", "preflight"},
}

// unknownPatchTarget denies a patch if patchTargets does not list its target, which is a ReplicatedJob or a container.
// Trainer 2.3 silently ignores a patch if the runtime of the TrainJob does not contain the patched ReplicatedJob.
// unknownPatchTarget also denies a patch that sets environment variables of a main container (see patchTargets). If a
// TrainJob uses a tenant's own runtime, unknownPatchTarget denies nothing, because the jobs and containers of such a
// runtime can have any names.
func unknownPatchTarget(job Job, p Parameters) field.ErrorList {
	if listed, ok := p.Runtimes[job.Runtime.Name]; !ok || listed.Kind != job.Runtime.Kind || job.Runtime.Group != v1alpha1.TrainerGroup {
		return nil
	}
	var errs field.ErrorList
	for _, target := range job.PatchTargets {
		if !slices.Contains(patchTargets[target.Kind], target.Name) {
			errs = append(errs, field.Forbidden(target.Path, fmt.Sprintf("%s %s cannot be patched: leave this patch out. Patches may change jobs (%s), containers (%s) and "+
				"initContainers (%s). Set variables in spec.trainer.env", target.Kind, printableName(target.Name), strings.Join(patchTargets["job"], ", "),
				strings.Join(patchTargets["container"], ", "), strings.Join(patchTargets["initContainer"], ", "))))
		}
	}
	return errs
}

// runtimeVolumeMount denies mounts of the runtime's volumes. The runtime can mount a volume read-only, or mount
// only one folder of the volume. A TrainJob that mounts the volume itself would bypass these restrictions.
func runtimeVolumeMount(job Job, _ Parameters) field.ErrorList {
	return forbidEach(job.Mounts, isRuntimeVolume, "%s is a volume of the runtime, which already mounts the part that jobs may use: leave this mount out, or mount another volume")
}

// unlistedLabel denies labels and annotations that the platform does not list. The labels and annotations of a pod
// decide which network policies, sidecar injectors and schedulers act on the pod. Therefore a TrainJob with an unlisted
// label or annotation could change which policies, injectors and schedulers act on its pods.
func unlistedLabel(job Job, p Parameters) field.ErrorList {
	return append(
		unlisted(job.Labels, p.Labels, "the labels that this platform lets jobs set", "labels"),
		unlisted(job.Annotations, p.Annotations, "the annotations that this platform lets jobs set", "annotations")...,
	)
}

// unlistedNodeLabel returns a denial for each node label that the platform does not list. A patch with an unlisted
// label could change the runtime's nodeSelector. The TrainJob could then run on cluster nodes that the runtime does not
// select.
func unlistedNodeLabel(job Job, p Parameters) field.ErrorList {
	return unlisted(job.NodeLabels, p.NodeLabels, "the node labels that node selectors may use on this platform", "nodeLabels")
}

func unlisted(names []Named, listed []string, list, key string) field.ErrorList {
	return forbidEach(names, func(name string) bool { return !slices.Contains(listed, name) },
		"%s is not among "+list+": leave it out, or have it listed in spec.admission."+key+" of the platform")
}
