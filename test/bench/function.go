package bench

import (
	"fmt"
	"os"

	"sigs.k8s.io/yaml"

	"github.com/trainyard/trainyard/api/v1alpha1"
	"github.com/trainyard/trainyard/test/bench/workload"
)

// functionKustomization is a kustomization that generates objects with the function trainyard-fn. The field
// "replacements" needs an object of the kind FunctionRun, which only trainyard-fn creates. Therefore the build fails if
// kustomize does not run trainyard-fn.
const functionKustomization = `apiVersion: kustomize.config.k8s.io/v1beta1
kind: Kustomization
generators: [platform.yaml]
sortOptions: {order: fifo}
replacements:
- source: {kind: FunctionRun, name: workload, fieldPath: function}
  targets: [{select: {kind: FunctionRun, name: workload}, fieldPaths: [function]}]
`

// functionCase returns the case in which kustomize runs trainyard-fn to generate the objects of workload W. The
// benchmark has other cases that run kustomize. In those cases, kustomize reads files that were written before the
// measurement.
func (b *bench) functionCase() []Case {
	var builds []Command
	for e := range workload.W.Environments {
		name := workload.Environment(e)
		build := b.build(b.path("function", name), b.path("function-output", name+".yaml"))
		build.Args = append(build.Args, "--enable-alpha-plugins", "--enable-exec")
		builds = append(builds, build)
	}
	all := workload.W.Objects()
	return []Case{{
		ID: caseFunction, Title: fmt.Sprintf("`kustomize build` of W by `trainyard-fn`, %d builds of %d objects", len(builds), all/len(builds)), Objects: all,
		commands: builds,
		verify:   func() error { return b.matchesOutput("function-output", "%s.yaml") },
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
			v1alpha1.EnvironmentKey:         name,
		}
		platform, err := yaml.Marshal(document)
		if err != nil {
			return err
		}
		for file, text := range map[string][]byte{"platform.yaml": platform, "kustomization.yaml": []byte(functionKustomization)} {
			if err := b.write(b.path("function", name, file), text); err != nil {
				return err
			}
		}
	}
	return os.MkdirAll(b.path("function-output"), 0o755)
}

// compareOverhead compares two ways to build workload W with kustomize: with the function trainyard-fn, and from files
// that trainyard wrote before the measurement.
func (r *Report) compareOverhead() section {
	s := section{title: "The function in kustomize"}
	function, measured := r.findResult(caseFunction)
	flat, ok := r.findResult(caseFlat)
	if measured && ok {
		s.lines = []string{fmt.Sprintf("If `kustomize build` runs `trainyard-fn`, the builds of the workload W use %s of CPU time. This CPU time includes the time of `trainyard-fn`. If `kustomize build` reads files that trainyard wrote before the measurement, the builds use %s of CPU time. The ratio of the two CPU times is %s.",
			formatDuration(function.CPU.Median), formatDuration(flat.CPU.Median), times(float64(function.CPU.Median)/float64(flat.CPU.Median)))}
	}
	return s
}
