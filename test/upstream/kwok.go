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

// SimulatedDuration is a variable of a container's environment. It says how long a simulated
// pod of a Job runs before it completes, such as "30s"; without it, the pod completes at once.
const SimulatedDuration = "SIMULATED_DURATION"

// Stages is what kwok's fast stages make of nodes and pods: nodes are ready, pods run as soon
// as they are placed, and those of Jobs complete. Two things are added to be like MPI jobs. A
// pod that waits for others to connect never ends by itself, and SimulatedDuration holds.
func Stages() ([]byte, error) {
	tools, err := Tools("kwok")
	if err != nil {
		return nil, err
	}
	dir, err := tools.module("sigs.k8s.io/kwok")
	if err != nil {
		return nil, err
	}
	stream, err := output(exec.Command(tools.Path("kustomize"), "build", filepath.Join(dir, "kustomize/stage/fast")))
	if err != nil {
		return nil, fmt.Errorf("building kwok's stages: %w", err)
	}
	return likeMPI(stream)
}

// likeMPI changes the stage that completes pods.
func likeMPI(stream []byte) ([]byte, error) {
	var all [][]byte
	changed := false
	err := EachDocument(stream, func(document []byte) error {
		var stage unstructured.Unstructured
		if err := yaml.Unmarshal(document, &stage.Object); err != nil {
			return err
		}
		if stage.GetName() == "pod-complete" {
			changed = true
			if err := hold(stage); err != nil {
				return err
			}
		}
		text, err := yaml.Marshal(stage.Object)
		all = append(all, text)
		return err
	})
	if err == nil && !changed {
		err = errors.New("none of them completes pods")
	}
	if err != nil {
		return nil, fmt.Errorf("changing kwok's stages: %w", err)
	}
	return bytes.Join(all, []byte("---\n")), nil
}

// hold keeps pods from completing before their time.
func hold(stage unstructured.Unstructured) error {
	where := []string{"spec", "selector", "matchExpressions"}
	conditions, found, err := unstructured.NestedSlice(stage.Object, where...)
	if err != nil || !found {
		return errors.Join(err, errors.New("pods complete without a condition"))
	}
	conditions = append(conditions, map[string]any{
		"key": `.metadata.labels["trainyard.dev/role"]`, "operator": "NotIn", "values": []any{"node"},
	})
	if err := unstructured.SetNestedSlice(stage.Object, conditions, where...); err != nil {
		return err
	}
	duration := fmt.Sprintf(`.spec.containers[].env[]? | select(.name == %q) | .value`, SimulatedDuration)
	return unstructured.SetNestedField(stage.Object, duration, "spec", "delay", "durationFrom", "expressionFrom")
}
