package guard

// Trainer 2.1 patches pods, and takes words for numProcPerNode.
// Source: pkg/apis/trainer/v1alpha1/trainjob_types.go of each version, as are the others.
func trainer21() Reader {
	return Reader{
		replaces: "2.1",
		trainJob: trainJob(map[string]shape{
			"trainer": trainer(word), "labels": mapping{text}, "annotations": mapping{text},
			"podTemplateOverrides": list{patched(map[string]shape{
				"targetJobs": list{patched(map[string]shape{"name": text})}, "metadata": metadata(), "spec": podSpec(nil),
			})},
			"runtimePatches":        refused("Trainer has it since 2.2: write podTemplateOverrides"),
			"activeDeadlineSeconds": refused("Trainer has it since 2.2: leave it out"),
		}),
		parts: func(spec tree) parts {
			overrides := spec.get("podTemplateOverrides").items()
			return parts{metadata: each(overrides, "metadata"), pods: each(overrides, "spec")}
		},
	}
}

// Trainer 2.2 patches the runtime, as deep as it goes.
func trainer22() Reader {
	return Reader{replaces: "2.2", trainJob: patching(map[string]shape{"securityContext": contexts}), parts: runtimeParts}
}

// Trainer 2.3 has one field more.
func trainer23() Reader {
	return Reader{
		trainJob: patching(map[string]shape{
			"securityContext":               contexts,
			"terminationGracePeriodSeconds": refused("pods that outlive their job keep its GPUs: leave it out"),
		}),
		parts: runtimeParts,
	}
}

const contexts = refused("the runtime's fits the namespace's Pod Security level" + elsewhere)

// patching is a TrainJob that patches its runtime, but for some fields of pods.
func patching(not map[string]shape) shape {
	pod := patched(map[string]shape{"metadata": metadata(), "spec": podSpec(not)})
	job := patched(map[string]shape{"metadata": metadata(), "spec": patched(map[string]shape{"template": pod})})
	jobs := list{patched(map[string]shape{"name": text, "template": job})}
	jobSet := patched(map[string]shape{"metadata": metadata(), "spec": patched(map[string]shape{"replicatedJobs": jobs})})
	const moved = "Trainer has it no more since 2.2: write it into runtimePatches"
	return trainJob(map[string]shape{
		"trainer": trainer(count), "activeDeadlineSeconds": number,
		"runtimePatches": list{patched(map[string]shape{
			"manager": text, "time": moment, "trainingRuntimeSpec": patched(map[string]shape{"template": jobSet}),
		})},
		"podTemplateOverrides": refused(moved), "labels": refused(moved), "annotations": refused(moved),
	})
}

func runtimeParts(spec tree) parts {
	jobSets := each(spec.get("runtimePatches").items(), "trainingRuntimeSpec", "template")
	jobs := each(itemsOf(each(jobSets, "spec", "replicatedJobs")), "template")
	pods := each(jobs, "spec", "template")
	var metadata []tree
	for _, level := range [][]tree{jobSets, jobs, pods} {
		metadata = append(metadata, each(level, "metadata")...)
	}
	return parts{metadata: metadata, pods: each(pods, "spec")}
}
