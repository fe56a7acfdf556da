package guard

import (
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"
)

// taken are the names of volumes that Trainer and our runtimes have; one of the same name would take its place.
var taken = []string{"mpi-hostfile", "mpi-run", "mpi-ssh-auth", "shm", "tmp"}

// takenPrefix is of the names of our runtimes' claims.
const takenPrefix = "storage-"

// volumesAreTheTeams: volumes of what the namespace holds, with names of their own.
func volumesAreTheTeams(job Job, p Parameters) field.ErrorList {
	errs := odd(RulePatchVolumes)(job, p)
	for _, volume := range job.Volumes {
		if isRuntimes(volume.Name) {
			errs = append(errs, forbids(volume.Path, "the runtime's own volume may be called %s: write a name other than %s and %s*",
				shown(volume.Name), strings.Join(taken, ", "), takenPrefix)...)
		}
	}
	return errs
}

// isRuntimes tells whether a volume of the runtime may have that name.
func isRuntimes(volume string) bool {
	return slices.Contains(taken, volume) || strings.HasPrefix(volume, takenPrefix)
}

// mountsAreTheJobs: a mount of the runtime's own volume would reach what the runtime keeps from the
// job: all of an export of which it mounts one folder, and for writing.
func mountsAreTheJobs(job Job, _ Parameters) field.ErrorList {
	var errs field.ErrorList
	for _, mount := range job.Mounts {
		if isRuntimes(mount.Name) {
			errs = append(errs, forbids(mount.Path, "%s is a volume of the runtime, which mounts what the job may have of it: leave it out, or mount a volume of another name",
				shown(mount.Name))...)
		}
	}
	return errs
}

// labelsAreListed: network policies, injectors and schedulers go by labels and annotations.
func labelsAreListed(job Job, p Parameters) field.ErrorList {
	return append(
		unlisted(job.Labels, p.Labels, "the labels that this platform lets jobs set", "labels"),
		unlisted(job.Annotations, p.Annotations, "the annotations that this platform lets jobs set", "annotations")...,
	)
}

// nodeLabelsAreListed: a nodeSelector could take jobs away from where the runtime puts them.
func nodeLabelsAreListed(job Job, p Parameters) field.ErrorList {
	return unlisted(job.NodeLabels, p.NodeLabels, "the node labels that this platform lets jobs choose by", "nodeLabels")
}

func unlisted(got []Named, listed []string, what, key string) field.ErrorList {
	var errs field.ErrorList
	for _, label := range got {
		if !slices.Contains(listed, label.Name) {
			errs = append(errs, forbids(label.Path, "%s is not among %s: leave it out, or have it listed in spec.admission.%s of the platform",
				shown(label.Name), what, key)...)
		}
	}
	return errs
}
