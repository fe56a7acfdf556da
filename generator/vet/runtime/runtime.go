package runtimevet

import (
	"path"
	"strings"

	"github.com/trainyard/trainyard/api/v1alpha1"
)

// Names that Trainer requires.
// Source: pkg/constants/constants.go of Trainer 2.3.
const (
	group         = v1alpha1.TrainerGroup
	ancestorLabel = group + "/trainjob-ancestor-step"
	launcherName  = "launcher"
	nodeName      = "node" // names the ReplicatedJob of the nodes, and also the main container of launcher and nodes
	keysPath      = "/root/.ssh"
	hostfilePath  = "/etc/mpi"
)

type runtime struct {
	root     value
	mpi      value // mlPolicy.mpi
	gang     value // podGroupPolicy
	jobSet   value // the spec of the JobSet
	jobs     value // the ReplicatedJobs of the JobSet
	launcher value // the ReplicatedJob "launcher"
	node     value // the ReplicatedJob "node"
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
	}
}

// isGenerated reports whether trainyard generated the runtime. Some rules ignore generated runtimes, because settings
// that look like mistakes are intended there.
func (r runtime) isGenerated() bool {
	return r.root.get("metadata", "labels", v1alpha1.RuntimeLabel).isSet()
}

// keysDir returns the folder in which Trainer mounts the SSH keys.
func (r runtime) keysDir() string {
	if dir, ok := r.mpi.get("sshAuthMountPath").node.Scalar.(string); ok {
		return path.Clean(dir)
	}
	return keysPath
}

func (r runtime) mpiJobs() []value {
	var jobs []value
	for _, job := range []value{r.launcher, r.node} {
		if job.isSet() {
			jobs = append(jobs, job)
		}
	}
	return jobs
}

// otherJobs returns all ReplicatedJobs except the launcher, the node and initializers.
func (r runtime) otherJobs() []value {
	var jobs []value
	for _, job := range r.jobs.listItems() {
		isInitializer := strings.HasSuffix(stepLabel(job).text(), "-initializer")
		if name := job.name(); name != launcherName && name != nodeName && !isInitializer {
			jobs = append(jobs, job)
		}
	}
	return jobs
}

// stepLabel returns the label that assigns a ReplicatedJob to a step of the TrainJob.
func stepLabel(job value) value {
	return job.get("template", "metadata", "labels", ancestorLabel)
}

// isTrainer reports whether a ReplicatedJob runs the image, command and args of the TrainJob.
func isTrainer(job value) bool { return stepLabel(job).text() == "trainer" }

func podSpec(job value) value { return job.get("template", "spec", "template", "spec") }

// mainContainer returns the container that gets the SSH keys and the environment from Trainer.
func mainContainer(job value) value { return podSpec(job).get("containers").named(nodeName) }
