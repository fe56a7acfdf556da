package build_test

import (
	"fmt"

	"sigs.k8s.io/yaml"

	"github.com/trainyard/trainyard/test/build"
)

func ExampleMakeTrainJob() {
	job := build.MakeTrainJob("allreduce", "team-a").
		Runtime("openmpi").Nodes(4).ProcPerNode(2).
		Command("mpirun", "python3", "train.py").Env("EPOCHS", "3").Resource("cpu", "2").
		Obj()
	spec, _ := yaml.Marshal(job.Spec)
	fmt.Print(string(spec))
	// Output:
	// runtimeRef:
	//   name: openmpi
	// trainer:
	//   command:
	//   - mpirun
	//   - python3
	//   - train.py
	//   env:
	//   - name: EPOCHS
	//     value: "3"
	//   numNodes: 4
	//   numProcPerNode: 2
	//   resourcesPerNode:
	//     limits:
	//       cpu: "2"
	//     requests:
	//       cpu: "2"
}

func ExampleTrainJob_Limit() {
	job := build.MakeTrainJob("a", "team-a").Limit("nvidia.com/gpu", "1").Resource("cpu", "2").Obj()
	resources, _ := yaml.Marshal(job.Spec.Trainer.ResourcesPerNode)
	fmt.Print(string(resources))
	// Output:
	// limits:
	//   cpu: "2"
	//   nvidia.com/gpu: "1"
	// requests:
	//   cpu: "2"
}
