package foreign

import "strings"

// Names that Trainer looks for, and nothing else will do.
// Source: pkg/constants/constants.go of Trainer 2.3.
const (
	group         = "trainer.kubeflow.org"
	ancestorLabel = group + "/trainjob-ancestor-step"
	launcherName  = "launcher"
	nodeName      = "node" // of a ReplicatedJob, and of the container in either
	keysPath      = "/root/.ssh"
	hostfilePath  = "/etc/mpi"
)

// runtime is a training runtime, and the places in it that many rules look at.
type runtime struct {
	root     value
	mpi      value   // mlPolicy.mpi
	gang     value   // podGroupPolicy
	jobSet   value   // the JobSet's spec
	jobs     value   // its ReplicatedJobs
	launcher value   // the ReplicatedJob of that name
	node     value   // the ReplicatedJob of that name
	shape    misfits // what does not fit upstream's types
}

func newRuntime(v value) runtime {
	jobSet := v.get("spec", "template", "spec")
	jobs := jobSet.get("replicatedJobs")
	return runtime{
		root:     v,
		mpi:      v.get("spec", "mlPolicy", "mpi"),
		gang:     v.get("spec", "podGroupPolicy"),
		jobSet:   jobSet,
		jobs:     jobs,
		launcher: jobs.named(launcherName),
		node:     jobs.named(nodeName),
		shape:    compare(v),
	}
}

// ours tells a runtime that trainyard generated, whose document says on purpose
// what is a surprise in others.
func (r runtime) ours() bool {
	return r.root.get("metadata", "labels", "trainyard.dev/runtime").given()
}

// roles are the ReplicatedJobs that the MPI plugin works on, as far as they exist.
func (r runtime) roles() []value {
	var roles []value
	for _, job := range []value{r.launcher, r.node} {
		if job.given() {
			roles = append(roles, job)
		}
	}
	return roles
}

// others are the ReplicatedJobs that the MPI plugin does not know, and that
// prepare nothing for it either.
func (r runtime) others() []value {
	var others []value
	for _, job := range r.jobs.items() {
		step, _ := ancestor(job).text()
		initializer := strings.HasSuffix(step, "-initializer")
		if name := nameOf(job); name != launcherName && name != nodeName && !initializer {
			others = append(others, job)
		}
	}
	return others
}

func nameOf(v value) string {
	name, _ := v.get("name").text()
	return name
}

// ancestor is a ReplicatedJob's label that says which part of a TrainJob lands there.
func ancestor(job value) value {
	return job.get("template", "metadata", "labels", ancestorLabel)
}

// trains tells whether a TrainJob's image, command and arguments land in a ReplicatedJob.
func trains(job value) bool {
	step, _ := ancestor(job).text()
	return step == "trainer"
}

// pod is a ReplicatedJob's pod spec.
func pod(job value) value { return job.get("template", "spec", "template", "spec") }

// container is where Trainer mounts keys and sets the environment.
func container(job value) value { return pod(job).get("containers").named(nodeName) }

// env is a variable of a container.
func env(container value, name string) value { return container.get("env").named(name) }

// runtimesIn lists the runtimes that a document is, or holds.
func runtimesIn(v value) []value {
	apiVersion, _ := v.get("apiVersion").text()
	kind, _ := v.get("kind").text()
	of, _, _ := strings.Cut(apiVersion, "/")
	switch {
	case of == group && (kind == "ClusterTrainingRuntime" || kind == "TrainingRuntime"):
		return []value{v}
	case !strings.HasSuffix(kind, "List"):
		return nil
	}
	var found []value
	for _, item := range v.get("items").items() {
		found = append(found, runtimesIn(item)...)
	}
	return found
}
