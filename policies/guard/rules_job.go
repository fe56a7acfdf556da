package guard

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/trainyard/trainyard/generator/problem"
)

var (
	specPath    = field.NewPath("spec")
	trainerPath = specPath.Child("trainer")
)

// forbids is one reason.
func forbids(path *field.Path, format string, args ...any) field.ErrorList {
	return field.ErrorList{field.Forbidden(path, fmt.Sprintf(format, args...))}
}

// runtimeIsListed: a team uses the runtimes that it lists, and those of its namespace only where
// it was granted that.
func runtimeIsListed(job Job, p Parameters) field.ErrorList {
	if _, ok := p.runtime(job.Runtime); ok {
		return nil
	}
	path := specPath.Child("runtimeRef")
	if listed, ok := p.Runtimes[job.Runtime.Name]; ok {
		return forbids(path, "%s is a %s of trainer.kubeflow.org: write that kind, and no other apiGroup", job.Runtime.Name, listed.Kind)
	}
	path = path.Child("name")
	names := slices.Sorted(maps.Keys(p.Runtimes))
	offer := "name one of: " + strings.Join(names, ", ")
	if len(names) == 0 {
		offer = "it has none"
	}
	if meant := problem.Nearest(job.Runtime.Name, names); meant != "" && len(job.Runtime.Name) <= maxAdvice {
		offer = fmt.Sprintf("did you mean %s? %s", meant, offer)
	}
	return forbids(path, "%s %s is not a runtime of this namespace: %s", shown(job.Runtime.Kind), shown(job.Runtime.Name), offer)
}

// nameIsShort: JobSet could not make pods of a longer name; Trainer admits it, and nothing happens.
func nameIsShort(job Job, p Parameters) field.ErrorList {
	runtime, known := p.runtime(job.Runtime)
	if got := int64(len(job.Name)); known && got > runtime.MaxName {
		return forbids(field.NewPath("metadata", "name"), "want at most %d characters, because pods are called after the job, got %d", runtime.MaxName, got)
	}
	return nil
}

// nodesAreFew: Trainer up to 2.3 takes any number.
func nodesAreFew(job Job, p Parameters) field.ErrorList {
	runtime, known := p.runtime(job.Runtime)
	if !known || job.Nodes == nil || *job.Nodes >= 1 && *job.Nodes <= runtime.MaxNodes {
		return nil
	}
	return forbids(trainerPath.Child("numNodes"), "want 1 to %d, which is what %s allows, got %d", runtime.MaxNodes, shown(job.Runtime.Name), *job.Nodes)
}

// imageIsTheRuntimes: up to Trainer 2.3 a TrainJob's image reaches the launcher, and nodes keep the runtime's.
func imageIsTheRuntimes(job Job, p Parameters) field.ErrorList {
	runtime, known := p.runtime(job.Runtime)
	if !known || runtime.Image == "" || job.Image == "" || job.Image == runtime.Image {
		return nil
	}
	return forbids(trainerPath.Child("image"), "nodes would run %s all the same: leave it out, or use a runtime with %s", runtime.Image, shown(job.Image))
}

// placing are variables that are Trainer's to set, and the runtime's: another value keeps all ranks in the launcher, or
// starts another number of them than the limits were held against.
var placing = []string{
	"OMPI_MCA_orte_default_hostfile", "OMPI_MCA_orte_keep_fqdn_hostnames", "OMPI_MCA_orte_set_default_slots", "OMPI_MCA_plm_rsh_args",
	"PRTE_MCA_prte_default_hostfile", "I_MPI_HYDRA_HOST_FILE", "I_MPI_PERHOST", "HYDRA_HOST_FILE",
}

func environmentIsTheRuntimes(job Job, _ Parameters) field.ErrorList {
	var errs field.ErrorList
	for _, variable := range job.Env {
		if slices.Contains(placing, variable.Name) {
			errs = append(errs, forbids(variable.Path, "%s says where ranks run, which is up to the runtime: leave it out", variable.Name)...)
		}
	}
	return errs
}

// managerIsKnown: nobody would run a job that somebody else manages.
func managerIsKnown(job Job, p Parameters) field.ErrorList {
	if job.ManagedBy == nil || slices.Contains(p.Managers, *job.ManagedBy) {
		return nil
	}
	return forbids(specPath.Child("managedBy"), "want %s, or none, got %s", strings.Join(p.Managers, " or "), shown(*job.ManagedBy))
}

// keysAreApart: whoever has the key of a job is let into all of its pods.
func keysAreApart(job Job, _ Parameters) field.ErrorList {
	var errs field.ErrorList
	for _, secret := range job.Secrets {
		if strings.HasSuffix(secret.Name, "-mpi-ssh-auth") {
			errs = append(errs, forbids(secret.Path, "Secrets called *-mpi-ssh-auth hold the keys to jobs: name none of them, Trainer mounts that of the job itself")...)
		}
	}
	return errs
}
