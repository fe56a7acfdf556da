package foreign

// gangs lists the schedulers that a runtime wants a PodGroup of.
func gangs(r runtime) []value {
	var all []value
	for _, v := range r.gang.fields() {
		if key := v.key(); v.given() && (key == "coscheduling" || key == "volcano") {
			all = append(all, v)
		}
	}
	return all
}

// gangDeadlock: the PodGroup counts pods that are not created before others are
// ready, which the scheduler does not let start before all are there.
func gangDeadlock(r runtime) []finding {
	if len(gangs(r)) == 0 {
		return nil
	}
	const deadlock = "the pods that are to start first wait in the scheduler for all of podGroupPolicy's gang, so nothing ever starts: %s"
	var found []finding
	for _, job := range r.jobs.items() {
		if on := job.get("dependsOn"); len(on.items()) > 0 {
			found = append(found, on.breaks(deadlock, "leave out dependsOn, or podGroupPolicy")...)
		}
	}
	order := r.jobSet.get("startupPolicy", "startupPolicyOrder")
	if text, _ := order.text(); text == "InOrder" {
		found = append(found, order.breaks(deadlock, "write AnyOrder, or leave out podGroupPolicy")...)
	}
	return found
}

func schedulerName(r runtime) []finding {
	if len(gangs(r)) == 0 {
		return nil
	}
	var found []finding
	for _, job := range r.jobs.items() {
		v := pod(job).get("schedulerName")
		if text, _ := v.text(); text == "" {
			found = append(found, v.breaks("podGroupPolicy makes a PodGroup, but the default scheduler ignores it: "+
				"write schedulerName, with the scheduler that knows PodGroups, into the pod template")...)
		}
	}
	return found
}

func twoGangs(r runtime) []finding {
	all := gangs(r)
	if len(all) < 2 {
		return nil
	}
	return all[1].breaks("Trainer makes a PodGroup for each, and a pod has only one scheduler: keep coscheduling or volcano")
}
