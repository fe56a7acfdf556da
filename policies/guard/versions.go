package guard

// overridesKey and patchesKey are names of fields in the spec of a TrainJob. Up to Trainer 2.1, the field
// podTemplateOverrides contains the patches of the TrainJob. Since Trainer 2.2, the field runtimePatches contains the
// patches.
const (
	overridesKey = "podTemplateOverrides"
	patchesKey   = "runtimePatches"
)

// trainer21 returns the reader of TrainJobs for Trainer 2.1. In Trainer 2.1, TrainJobs can patch only pods, and the value
// of numProcPerNode can be a word such as "auto". Source: pkg/apis/trainer/v1alpha1/trainjob_types.go of Trainer 2.1.
func trainer21() Reader {
	return Reader{
		replaces: "2.1",
		trainJob: trainJob(fields{
			"trainer": trainerSchema(intOrString), "labels": mapping{text}, "annotations": mapping{text},
			overridesKey: list{of: patchObject(fields{
				"targetJobs": list{of: patchObject(fields{"name": name}).withRequired("name")}, "metadata": patchMetadata(), "spec": podSpec(nil),
			}).withRequired("targetJobs")},
			patchesKey:              forbiddenField("Trainer 2.1 does not have this field, which is new in 2.2: write podTemplateOverrides"),
			"activeDeadlineSeconds": forbiddenField("Trainer 2.1 does not have this field, which is new in 2.2: leave it out"),
		}),
		findPatches: func(spec value) patches {
			overrides := spec.get(overridesKey).listItems()
			return patches{metadata: lookUpEach(overrides, "metadata"), jobs: itemsOf(lookUpEach(overrides, "targetJobs")), pods: lookUpEach(overrides, "spec")}
		},
	}
}

// trainer22 returns the reader of TrainJobs for Trainer 2.2. In Trainer 2.2, TrainJobs can patch the runtime at every
// level, from the JobSet to containers. Source: pkg/apis/trainer/v1alpha1/trainjob_types.go of Trainer 2.2.
func trainer22() Reader {
	return Reader{
		replaces: "2.2", limitsItems: true, trainJob: patchedTrainJob(fields{"securityContext": runtimesSecurityContext}), findPatches: runtimePatches,
	}
}

// trainer23 returns the reader of TrainJobs for Trainer 2.3. Unlike Trainer 2.2, Trainer 2.3 merges a TrainJob's
// resources into the runtime's resources. Trainer 2.3 also has a new field for patches, terminationGracePeriodSeconds.
// Trainer allows this field, but trainyard does not: the schema in the returned Reader forbids the field. Source:
// pkg/apis/trainer/v1alpha1/trainjob_types.go of Trainer 2.3.
func trainer23() Reader {
	return Reader{
		limitsItems: true,
		trainJob: patchedTrainJob(fields{
			"securityContext":               runtimesSecurityContext,
			"terminationGracePeriodSeconds": forbiddenField("with a long grace period, pods would outlive their job and occupy its GPUs: leave it out"),
		}),
		findPatches: runtimePatches,
	}
}

const runtimesSecurityContext = forbiddenField("the security context of the runtime satisfies the namespace's Pod Security level" + orOtherRuntime)

// patchedTrainJob returns the schema of TrainJobs for versions of Trainer that have the field runtimePatches. The
// argument "podFields" contains forbidden fields of the pod spec, namely the fields that exist only in some
// versions of Trainer.
func patchedTrainJob(podFields fields) fieldSchema {
	pod := patchObject(fields{"metadata": patchMetadata(), "spec": podSpec(podFields)})
	job := patchObject(fields{"metadata": patchMetadata(), "spec": patchObject(fields{"template": pod})})
	jobs := list{of: patchObject(fields{"name": name, "template": job}).withRequired("name"), key: "name", max: 100}
	jobSet := patchObject(fields{"metadata": patchMetadata(), "spec": patchObject(fields{"replicatedJobs": jobs})})
	const removed = forbiddenField("Trainer removed this field in 2.2: write it into runtimePatches")
	return trainJob(fields{
		"trainer": trainerSchema(integer32), "activeDeadlineSeconds": positive,
		patchesKey: list{of: patchObject(fields{
			"manager": manager, "time": timestamp, "trainingRuntimeSpec": patchObject(fields{"template": jobSet}),
		}).withRequired("manager"), key: "manager", max: 16},
		overridesKey: removed, "labels": removed, "annotations": removed,
	})
}

func runtimePatches(spec value) patches {
	jobSets := lookUpEach(spec.get(patchesKey).listItems(), "trainingRuntimeSpec", "template")
	replicated := itemsOf(lookUpEach(jobSets, "spec", "replicatedJobs"))
	jobs := lookUpEach(replicated, "template")
	pods := lookUpEach(jobs, "spec", "template")
	var metadata []value
	for _, level := range [][]value{jobSets, jobs, pods} {
		metadata = append(metadata, lookUpEach(level, "metadata")...)
	}
	return patches{metadata: metadata, jobs: replicated, pods: lookUpEach(pods, "spec")}
}
