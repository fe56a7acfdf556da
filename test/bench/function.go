package bench

import (
	"fmt"

	"sigs.k8s.io/yaml"

	"github.com/trainyard/trainyard/test/bench/workload"
)

// witnessed is a kustomization that makes objects by trainyard-fn, or fails.
const witnessed = `apiVersion: kustomize.config.k8s.io/v1beta1
kind: Kustomization
generators: [platform.yaml]
sortOptions: {order: fifo}
replacements:
- source: {kind: FunctionRun, name: workload, fieldPath: function}
  targets: [{select: {kind: FunctionRun, name: workload}, fieldPaths: [function]}]
`

// function is W by kustomize that has trainyard-fn make it, where the others read what is committed.
func (b *bench) function() []Case {
	var builds []Command
	for e := range workload.W.Environments {
		name := workload.Environment(e)
		build := b.build(b.path("function", name), b.path("functioned", name+".yaml"))
		build.Args = append(build.Args, "--enable-alpha-plugins", "--enable-exec")
		builds = append(builds, build)
	}
	all := workload.W.Objects()
	return []Case{{
		ID: caseFunction, What: fmt.Sprintf("`kustomize build` of W by `trainyard-fn`, %d builds of %d objects", len(builds), all/len(builds)), Objects: all,
		commands: builds,
		verify:   func() error { return b.built("functioned", "%s.yaml") },
	}}
}

// writeFunctions writes a kustomization for each environment.
func (b *bench) writeFunctions() error {
	text, err := workload.W.Document(0)
	if err != nil {
		return err
	}
	for e := range workload.W.Environments {
		name := workload.Environment(e)
		var document map[string]any
		if err := yaml.Unmarshal(text, &document); err != nil {
			return fmt.Errorf("reading W: %w", err)
		}
		document["metadata"].(map[string]any)["annotations"] = map[string]string{
			"config.kubernetes.io/function": fmt.Sprintf("exec: {path: %q}", b.path("trainyard-fn")),
			"trainyard.dev/environment":     name,
		}
		platform, err := yaml.Marshal(document)
		if err != nil {
			return err
		}
		for file, text := range map[string][]byte{"platform.yaml": platform, "kustomization.yaml": []byte(witnessed)} {
			if err := b.write(b.path("function", name, file), text); err != nil {
				return err
			}
		}
	}
	return b.write(b.path("functioned", "README"), nil) // which makes the folder
}

// overhead says what the function costs where what it makes could be committed.
func (r *Report) overhead() section {
	s := section{title: "The function in kustomize"}
	function, measured := r.find(caseFunction)
	flat, ok := r.find(caseFlat)
	if measured && ok {
		s.words = []string{fmt.Sprintf("W by the function takes kustomize and it together %s of CPU, and kustomize %s where what is generated is committed: %s times as much.",
			duration(function.CPU.Median), duration(flat.CPU.Median), times(float64(function.CPU.Median)/float64(flat.CPU.Median)))}
	}
	return s
}
