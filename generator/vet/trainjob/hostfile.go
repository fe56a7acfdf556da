package trainjob

import (
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/trainyard/trainyard/api/v1alpha1"
	"github.com/trainyard/trainyard/generator/internal/document"
	"github.com/trainyard/trainyard/generator/object"
	"github.com/trainyard/trainyard/generator/problem"
)

var unreadableHostfile = problem.Rule{Name: "unreadable-hostfile", Doc: "A TrainJob does not pass Trainer's hostfile to MPICH or Intel MPI, which cannot read its format"}

// trainerHostfile is the path of the hostfile that Trainer writes, in the format of Open MPI.
const trainerHostfile = "/etc/mpi/hostfile"

// convertingPath is the first folder of PATH if ranks start with trainyard's own mpirun. This mpirun drops the option
// --hostfile (runtimes/threads.cue).
const convertingPath = "/mpi-run/bin:"

// describeHostfile describes the problem of a TrainJob that passes Trainer's hostfile to mpirun, as each TrainJob of the
// Kubeflow SDK does. The result is empty if the runtime's mpirun can read the hostfile.
func (p Platform) describeHostfile(job *document.Node) string {
	trainer := job.Get("spec").Get("trainer")
	var words []string
	for _, list := range []string{"command", "args"} {
		if value := trainer.Get(list); value != nil {
			for _, item := range value.Items {
				words = append(words, item.AsString())
			}
		}
	}
	if len(words) == 0 || words[0] != "mpirun" || !slices.Contains(words, trainerHostfile) {
		return ""
	}
	if !p.needsConversion[job.Get("spec").Get("runtimeRef").Get("name").AsString()] {
		return ""
	}
	return "mpirun of this runtime cannot read " + trainerHostfile + ", whose format is Open MPI's, so the TrainJob would fail: " +
		"leave the option out; for train() of the Kubeflow SDK, which always sets it, set env.PATH of the runtime to " + convertingPath + " and the PATH of the image"
}

// needsConversion reports whether an object is a runtime whose mpirun cannot read Trainer's hostfile.
func needsConversion(o object.Object) bool {
	if mpi := o.Label(v1alpha1.MPILabel); mpi != "mpich" && mpi != "intel" {
		return false
	}
	for _, job := range listAt(o.Fields(), "spec", "template", "spec", "replicatedJobs") {
		if slices.ContainsFunc(listAt(job, "template", "spec", "template", "spec", "containers"), setsConvertingPath) {
			return false
		}
	}
	return true
}

func setsConvertingPath(container any) bool {
	return slices.ContainsFunc(listAt(container, "env"), func(variable any) bool {
		v, _ := variable.(map[string]any)
		value, _ := v["value"].(string)
		return v["name"] == "PATH" && strings.HasPrefix(value, convertingPath)
	})
}

// listAt returns the list at a path in a JSON object, or nil if there is no list.
func listAt(object any, path ...string) []any {
	fields, _ := object.(map[string]any)
	value, _, _ := unstructured.NestedFieldNoCopy(fields, path...)
	list, _ := value.([]any)
	return list
}
