package foreign

import "strings"

// deviceLimits reads limits as the SDK does, which looks at the first container
// called node of a ReplicatedJob with an ancestor label.
// Source: get_container_devices in kubeflow/trainer/backends/kubernetes/utils.py of the Kubeflow SDK 0.4.
func deviceLimits(r runtime) []finding {
	for _, job := range r.jobs.items() {
		if c := container(job); c.given() && ancestor(job).given() {
			return deviceOf(c.get("resources", "limits"))
		}
	}
	return nil
}

func deviceOf(limits value) []finding {
	known, migs := false, 0
	for _, limit := range limits.fields() {
		switch key := limit.key(); {
		case key == "nvidia.com/gpu", key == "google.com/tpu":
			return nil
		case strings.HasPrefix(key, "nvidia.com/mig-"):
			migs++
		case key == "huawei.com/Ascend910", key == "cpu":
			known = true
		}
	}
	switch {
	case !limits.given(), migs == 0 && known, migs == 1:
		return nil
	case migs > 1:
		return limits.breaks("the Kubeflow SDK reads one kind of MIG device, so list_runtimes raises for every user: keep one of the %d", migs)
	}
	return limits.breaks("the Kubeflow SDK finds no device that it knows, so list_runtimes raises for every user: " +
		"add cpu, or leave limits out")
}

func frameworkLabel(r runtime) []finding {
	v := r.root.get("metadata", "labels", group+"/framework")
	if v.given() {
		return nil
	}
	return v.surprises("the Kubeflow SDK passes over a runtime without this label, so list_runtimes does not show it: " +
		"write the name of the framework, such as mpi or torch")
}
