package runtimevet

// gangSchedulers returns the schedulers for which Trainer creates a PodGroup.
func gangSchedulers(r runtime) []value {
	var schedulers []value
	for _, v := range r.gang.fields() {
		if key := v.key(); v.isSet() && (key == "coscheduling" || key == "volcano") {
			schedulers = append(schedulers, v)
		}
	}
	return schedulers
}

// gangDeadlock finds settings that delay the creation of pods. If a runtime has such a setting, JobSet creates some
// pods only after other pods are ready or complete. But the gang scheduler starts no pod before all pods of the
// PodGroup exist. Therefore no pod ever starts.
func gangDeadlock(p *pass) {
	if len(gangSchedulers(p.runtime)) == 0 {
		return
	}
	const deadlock = "no pod ever starts, because podGroupPolicy makes the scheduler wait until all pods exist, and JobSet creates some pods only after others have started: %s"
	for _, job := range p.jobs.listItems() {
		if dependencies := job.get("dependsOn"); len(dependencies.listItems()) > 0 {
			p.addProblem(dependencies, deadlock, "leave out dependsOn, or podGroupPolicy")
		}
	}
	if order := p.jobSet.get("startupPolicy", "startupPolicyOrder"); order.text() == "InOrder" {
		p.addProblem(order, deadlock, "write AnyOrder, or leave out podGroupPolicy")
	}
}

func missingSchedulerName(p *pass) {
	if len(gangSchedulers(p.runtime)) == 0 {
		return
	}
	for _, job := range p.jobs.listItems() {
		if v := podSpec(job).get("schedulerName"); v.text() == "" {
			p.addProblem(v, "the default scheduler ignores the PodGroup that podGroupPolicy creates: "+
				"set schedulerName in the pod template to the name of the gang scheduler")
		}
	}
}

func twoGangSchedulers(p *pass) {
	if schedulers := gangSchedulers(p.runtime); len(schedulers) > 1 {
		p.addProblem(schedulers[1], "Trainer creates one PodGroup for coscheduling and one for volcano, but a pod has only one scheduler: remove one of these two fields")
	}
}
