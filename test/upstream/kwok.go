package upstream

import (
	"bytes"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"
)

// SimulatedDuration is the name of an environment variable for the containers of simulated pods. The value of the
// variable, such as "30s", is the time after which a simulated pod of a Job completes. Without the variable, a
// simulated pod of a Job completes at once.
const SimulatedDuration = "SIMULATED_DURATION"

// Stages returns kwok's "fast" Stage objects, adapted to MPI jobs. A Stage describes a change that kwok simulates. With
// the original stages, kwok makes cluster nodes ready, and runs each pod as soon as the pod is scheduled. If a pod
// belongs to a Job, kwok then completes the pod immediately. With the adapted stages, pods with the role "node" never
// complete by themselves, and other pods of Jobs complete after the time in their variable SIMULATED_DURATION.
func Stages() ([]byte, error) {
	tools, err := Tools("kwok")
	if err != nil {
		return nil, err
	}
	dir, err := tools.Module("sigs.k8s.io/kwok")
	if err != nil {
		return nil, err
	}
	stream, err := commandOutput(exec.Command(tools.Path("kustomize"), "build", filepath.Join(dir, "kustomize/stage/fast")))
	if err != nil {
		return nil, fmt.Errorf("building kwok's stages: %w", err)
	}
	return adaptStages(stream)
}

// adaptStages changes kwok's Stage "pod-complete", which completes pods.
func adaptStages(stream []byte) ([]byte, error) {
	var all [][]byte
	changed := false
	err := EachDocument(stream, func(document []byte) error {
		var stage unstructured.Unstructured
		if err := yaml.Unmarshal(document, &stage.Object); err != nil {
			return err
		}
		if stage.GetName() == "pod-complete" {
			changed = true
			if err := delayCompletion(stage); err != nil {
				return err
			}
		}
		text, err := yaml.Marshal(stage.Object)
		all = append(all, text)
		return err
	})
	if err == nil && !changed {
		err = errors.New("no stage completes pods")
	}
	if err != nil {
		return nil, fmt.Errorf("changing kwok's stages: %w", err)
	}
	return bytes.Join(all, []byte("---\n")), nil
}

// delayCompletion changes the Stage that completes pods: pods complete after the time in their variable
// SIMULATED_DURATION, and pods with the role "node" do not complete.
func delayCompletion(stage unstructured.Unstructured) error {
	path := []string{"spec", "selector", "matchExpressions"}
	conditions, found, err := unstructured.NestedSlice(stage.Object, path...)
	if err != nil || !found {
		return errors.Join(err, fmt.Errorf("the Stage %s has no spec.selector.matchExpressions", stage.GetName()))
	}
	conditions = append(conditions, map[string]any{
		"key": `.metadata.labels["trainyard.dev/role"]`, "operator": "NotIn", "values": []any{"node"},
	})
	if err := unstructured.SetNestedSlice(stage.Object, conditions, path...); err != nil {
		return err
	}
	duration := fmt.Sprintf(`.spec.containers[].env[]? | select(.name == %q) | .value`, SimulatedDuration)
	return unstructured.SetNestedField(stage.Object, duration, "spec", "delay", "durationFrom", "expressionFrom")
}
