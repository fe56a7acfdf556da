package trainjob

import (
	"fmt"
	"slices"
	"strings"

	"cuelang.org/go/cue"

	"github.com/trainyard/trainyard/api/message"
	"github.com/trainyard/trainyard/api/v1alpha1"
	"github.com/trainyard/trainyard/generator/internal/document"
	"github.com/trainyard/trainyard/generator/internal/wording"
	"github.com/trainyard/trainyard/generator/problem"
	"github.com/trainyard/trainyard/policies/cases"
)

var (
	unrecognizedObject = problem.Rule{Name: "unrecognized-object", Doc: "Each YAML document in a file of TrainJobs is a Kubernetes object, and the apiVersion and kind of each TrainJob are spelled correctly"}
	duplicateTrainJob  = problem.Rule{Name: "duplicate-trainjob", Doc: "No two TrainJobs in a file have the same name and namespace"}
)

// trainerKinds lists the kinds of objects that Trainer defines.
var trainerKinds = []string{cases.TrainJobKind, "TrainJobList", "TrainingRuntime", "TrainingRuntimeList", "ClusterTrainingRuntime", "ClusterTrainingRuntimeList"}

// listJobs returns the document itself if the document is a TrainJob. If the document is a List, listJobs returns the
// TrainJobs in the List.
func listJobs(n *document.Node) []*document.Node {
	return slices.DeleteFunc(listObjects(n), func(object *document.Node) bool { return !isTrainJob(object) })
}

func isTrainJob(n *document.Node) bool {
	return groupOf(n) == v1alpha1.TrainerGroup && n.Get("kind").AsString() == cases.TrainJobKind
}

// groupOf returns the part of apiVersion before "/".
func groupOf(n *document.Node) string {
	group, _, _ := strings.Cut(n.Get("apiVersion").AsString(), "/")
	return group
}

// listObjects returns the document itself or, if the document is a List, its items.
func listObjects(n *document.Node) []*document.Node {
	items := n.Get("items")
	if !strings.HasSuffix(n.Get("kind").AsString(), "List") || items == nil {
		return []*document.Node{n}
	}
	var found []*document.Node
	for _, item := range items.Items {
		if !item.Empty() {
			found = append(found, listObjects(item)...)
		}
	}
	return found
}

// findUnrecognized reports documents in which the user has probably made a mistake. Without findUnrecognized, vet would
// skip these documents silently. findUnrecognized reports a document if the document is not an object, or has no kind.
// findUnrecognized also reports a document that is probably a TrainJob, but has a wrong kind, or a wrong or missing API
// group.
func findUnrecognized(n *document.Node) problem.List {
	var found problem.List
	for _, object := range listObjects(n) {
		switch kind := object.Get("kind").AsString(); {
		case isTrainJob(object):
		case object.Kind != document.Mapping:
			found = append(found, newProblem(object, "", unrecognizedObject, "want an object, got "+wording.Describe(object, cue.TopKind)))
		case kind == "":
			found = append(found, newProblem(object, "kind", unrecognizedObject, "want the kind of an object, such as "+cases.TrainJobKind))
		case message.Nearest(kind, trainerKinds) == cases.TrainJobKind && isLikeTrainer(object):
			found = append(found, describeMisspellings(object, kind)...)
		}
	}
	return found
}

// isLikeTrainer reports whether the apiVersion of an object has no group, or has a group that is similar to the group
// of Trainer.
func isLikeTrainer(object *document.Node) bool {
	group := groupOf(object)
	return !strings.Contains(object.Get("apiVersion").AsString(), "/") || strings.HasSuffix(group, "kubeflow.org") ||
		message.Nearest(group, []string{v1alpha1.TrainerGroup}) != ""
}

// describeMisspellings reports the wrong kind or apiVersion of an object that is probably meant to be a TrainJob.
func describeMisspellings(object *document.Node, kind string) (found problem.List) {
	if kind != cases.TrainJobKind {
		found = append(found, newProblem(object, "kind", unrecognizedObject, "unknown kind "+message.Quote(kind)+": "+wording.Suggestion([]string{cases.TrainJobKind})))
	}
	if groupOf(object) != v1alpha1.TrainerGroup {
		text := "want " + v1alpha1.TrainerAPIVersion + ", got none"
		if given := object.Get("apiVersion"); !given.Empty() {
			text = "unknown apiVersion " + wording.Describe(given, cue.StringKind) + ": " + wording.Suggestion([]string{v1alpha1.TrainerAPIVersion})
		}
		found = append(found, newProblem(object, "apiVersion", unrecognizedObject, text))
	}
	return found
}

// names contains the names of the TrainJobs in a file. Each key consists of the namespace and the name of a TrainJob.
// The value for the key is the position of the name in the file.
type names map[[2]string]problem.Position

// add is a method that stores the position of a TrainJob's name in the map. If an earlier TrainJob of the file has the
// same name and namespace, the method add returns a problem. If a TrainJob does not set metadata.namespace, the method
// add uses the argument "tenant" as the namespace of the TrainJob.
func (n names) add(job *document.Node, tenant string) problem.List {
	metadata := job.Get("metadata")
	name, namespace := metadata.Get("name"), metadata.Get("namespace").AsString()
	if namespace == "" {
		namespace = tenant
	}
	key := [2]string{namespace, name.AsString()}
	if name.AsString() == "" {
		return nil
	}
	if first, ok := n[key]; ok {
		return problem.List{newProblem(job, "metadata.name", duplicateTrainJob, fmt.Sprintf("the TrainJob at %s has the same name and namespace: rename or remove one of them", first))}
	}
	n[key] = name.Position
	return nil
}
