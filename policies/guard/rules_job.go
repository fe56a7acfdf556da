package guard

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/trainyard/trainyard/api/message"
)

var (
	specPath    = field.NewPath("spec")
	trainerPath = specPath.Child("trainer")
)

// unlistedRuntime denies runtimes that the tenant does not list. A tenant with the grant manage-runtimes may also use
// its own TrainingRuntimes.
func unlistedRuntime(job Job, p Parameters) field.ErrorList {
	if _, ok := p.runtimeLimits(job.Runtime); ok {
		return nil
	}
	path := specPath.Child("runtimeRef")
	if listed, ok := p.Runtimes[job.Runtime.Name]; ok {
		return newViolation(path, "runtime %s has the kind %s and the apiGroup trainer.kubeflow.org: write this kind and this apiGroup", message.Quote(job.Runtime.Name), listed.Kind)
	}
	names := slices.Sorted(maps.Keys(p.Runtimes))
	offer := "name one of: " + strings.Join(names, ", ")
	if len(names) == 0 {
		offer = "it has none"
	}
	if meant := message.Nearest(job.Runtime.Name, names); meant != "" {
		offer = fmt.Sprintf("did you mean %q? %s", meant, offer)
	}
	return newViolation(path.Child("name"), "%s %s is not a runtime of this namespace: %s", printableName(job.Runtime.Kind), printableName(job.Runtime.Name), offer)
}

// missingInitializer denies initializers that the runtime does not have. Trainer's webhook would also refuse
// these initializers.
func missingInitializer(job Job, runtime Runtime) field.ErrorList {
	if runtime.Kind == "" { // a runtime that the tenant created
		return nil
	}
	var errs field.ErrorList
	for _, initializer := range job.Initializers {
		if !slices.Contains(runtime.Initializers, initializer.Name) {
			errs = append(errs, field.Forbidden(initializer.Path, fmt.Sprintf("runtime %s has no %s initializer: leave this field out", message.Quote(job.Runtime.Name), initializer.Name)))
		}
	}
	return errs
}

// imageMismatch denies images other than the runtime's image. Up to Trainer 2.3, only the launcher runs
// the TrainJob's image, and the nodes run the runtime's image. With another image, the launcher and the
// nodes would thus run different images.
func imageMismatch(job Job, runtime Runtime) field.ErrorList {
	if runtime.Image == "" || job.Image == "" || job.Image == runtime.Image {
		return nil
	}
	return newViolation(trainerPath.Child("image"), "only the launcher would run this image, and the nodes would run %s, the image of the runtime: leave this field out, or use a runtime with the image %s", runtime.Image, message.Quote(job.Image))
}

// trainerHostfile is the path of Trainer's hostfile, which has the format of Open MPI. If PATH begins with
// convertingPath, the command mpirun is trainyard's own script (runtimes/threads.cue). The script drops the option
// --hostfile, and starts the mpirun of the image. Hydra, the process manager of MPICH and Intel MPI, then reads
// another hostfile, which is in its own format.
const (
	trainerHostfile = "/etc/mpi/hostfile"
	convertingPath  = "/mpi-run/bin:"
)

// unreadableHostfile denies TrainJobs that pass Trainer's hostfile to an mpirun that cannot read it. The Kubeflow SDK
// creates such TrainJobs for Python functions. A TrainJob is allowed if PATH selects trainyard's own mpirun. If the
// TrainJob sets PATH, this value replaces the PATH of the runtime.
func unreadableHostfile(job Job, runtime Runtime) field.ErrorList {
	converts := runtime.Hostfile == HostfileConverted
	if job.SearchPath != nil {
		converts = strings.HasPrefix(*job.SearchPath, convertingPath)
	}
	if runtime.Hostfile == "" || converts || len(job.Command) == 0 || job.Command[0] != "mpirun" || !slices.Contains(job.Command, trainerHostfile) {
		return nil
	}
	return newViolation(trainerPath.Child("command"), "mpirun of runtime %s cannot read %s, which has the format of Open MPI: "+
		"leave out the option that names this file. If the Kubeflow SDK adds the option, use the mpirun of trainyard, which ignores the option: set PATH to \"%s\" followed by the PATH of the image, in env of the runtime (or of the TrainJob, if it sets PATH)", message.Quote(job.Runtime.Name), trainerHostfile, convertingPath)
}

// reservedVariables lists environment variables that only Trainer and the runtime may set. If a TrainJob set one
// of these variables, all ranks could run in the launcher, or the number of ranks could exceed the limits.
var reservedVariables = []string{
	"OMPI_MCA_orte_default_hostfile", "OMPI_MCA_orte_keep_fqdn_hostnames", "OMPI_MCA_orte_set_default_slots", "OMPI_MCA_plm_rsh_args",
	"PRTE_MCA_prte_default_hostfile", "I_MPI_HYDRA_HOST_FILE", "I_MPI_PERHOST", "HYDRA_HOST_FILE",
}

func reservedVariable(job Job, _ Parameters) field.ErrorList {
	isReserved := func(name string) bool { return slices.Contains(reservedVariables, name) }
	return forbidEach(job.Env, isReserved, "%s controls where ranks run, which the runtime decides: leave it out")
}

// unknownManager denies unknown values of managedBy, because no controller would run a TrainJob
// with an unknown manager.
func unknownManager(job Job, p Parameters) field.ErrorList {
	if job.ManagedBy == nil || slices.Contains(p.Managers, *job.ManagedBy) {
		return nil
	}
	return newViolation(specPath.Child("managedBy"), "want %s, or none, got %s", strings.Join(p.Managers, " or "), printableName(*job.ManagedBy))
}

// reservedMetadata denies finalizers and controlling owners. A finalizer can prevent the deletion of a TrainJob
// forever, or orphan its pods. With a controlling owner, a TrainJob could bypass quotas, because Kueue ignores
// a TrainJob that another object controls.
func reservedMetadata(job Job, _ Parameters) field.ErrorList {
	var errs field.ErrorList
	for _, reserved := range job.Reserved {
		errs = append(errs, field.Forbidden(reserved.Path, "only controllers and admins may set this field: leave it out"))
	}
	return errs
}

// noDeletion is the check function of the rules about deletions. noDeletion always returns nil, because guard checks only
// requests to create or update a TrainJob.
func noDeletion(Job, Parameters) field.ErrorList { return nil }

// sshKeyAccess denies references to Secrets that contain the SSH key of a job. The SSH key of a job gives access to
// all pods of the job.
func sshKeyAccess(job Job, _ Parameters) field.ErrorList {
	holdsKey := func(secret string) bool { return strings.HasSuffix(secret, "-mpi-ssh-auth") }
	return forbidEach(job.Secrets, holdsKey, "Secret %s holds the SSH key of a job, and Trainer itself mounts the SSH key of this TrainJob: leave this Secret out")
}
