package runtimevet

import (
	"strings"
)

// unknownDeviceLimit finds limits that make the method list_runtimes of the Kubeflow SDK fail. The SDK reads the limits
// of the first container called "node" in a ReplicatedJob with the label trainjob-ancestor-step.
// Source: get_container_devices in kubeflow/trainer/backends/kubernetes/utils.py of the Kubeflow SDK 0.4.
func unknownDeviceLimit(p *pass) {
	for _, job := range p.jobs.listItems() {
		if c := mainContainer(job); c.isSet() && stepLabel(job).isSet() {
			p.checkDevice(c.get("resources", "limits"))
			return
		}
	}
}

func (p *pass) checkDevice(limits value) {
	known, migs := false, 0
	for _, limit := range limits.fields() {
		switch key := limit.key(); {
		case key == "nvidia.com/gpu", key == "google.com/tpu", describeName(key) != "": // invalid-resource-name reports the key
			return
		case strings.HasPrefix(key, "nvidia.com/mig-"):
			migs++
		case key == "huawei.com/Ascend910", key == "cpu":
			known = true
		}
	}
	switch {
	case migs > 1:
		p.addProblem(limits, "the method list_runtimes of the Kubeflow SDK fails for every user, because the SDK allows only one kind of MIG device: keep one of these %d", migs)
	case limits.isSet() && migs == 0 && !known:
		p.addProblem(limits, "the method list_runtimes of the Kubeflow SDK fails for every user, because limits contains no resource that the SDK recognizes: add cpu to limits, or leave limits out")
	}
}

func missingFrameworkLabel(p *pass) {
	if v := p.root.get("metadata", "labels", group+"/framework"); !v.isSet() {
		p.note(v, "the method list_runtimes of the Kubeflow SDK does not show a runtime without this label: "+
			"write the name of the framework, such as mpi or torch")
	}
}
