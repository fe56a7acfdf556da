package guard

import "maps"

// patched is what patches have below them, by the rules about them.
func patched(fields map[string]shape) object { return fieldsOf(RulePatchFields, fields) }

const elsewhere = ": leave it out, or name a runtime that has it"

// metadata is of pods, Jobs and JobSets.
func metadata() shape {
	return patched(map[string]shape{
		"labels": mapping{text}, "annotations": mapping{text},
		"name":       refused("names are Trainer's to give: leave it out"),
		"namespace":  refused("the namespace is the TrainJob's: leave it out"),
		"finalizers": refused("finalizers are Trainer's to set: leave it out"),
	})
}

// podSpec is what may be patched in pods, and what may not be in some versions of Trainer.
func podSpec(not map[string]shape) shape {
	fields := map[string]shape{
		"volumes": list{volume()}, "containers": list{container(not)}, "initContainers": list{container(not)}, "nodeSelector": mapping{text},
		"affinity":           refused("it replaces the runtime's as a whole" + elsewhere),
		"tolerations":        refused("they replace the runtime's as a whole, and taints keep machines for others" + elsewhere),
		"schedulingGates":    refused("they are Kueue's: leave it out"),
		"serviceAccountName": refused("it gives a job the rights of another" + elsewhere),
		"imagePullSecrets":   refused("the image is the runtime's, and so is how it is pulled" + elsewhere),
	}
	maps.Copy(fields, not)
	return patched(fields)
}

func container(not map[string]shape) shape {
	fields := map[string]shape{"name": text, "env": variables(RulePatchFields), "volumeMounts": list{volumeMount()}}
	if why, ok := not["securityContext"]; ok {
		fields["securityContext"] = why
	}
	return patched(fields)
}

func volumeMount() shape {
	return patched(map[string]shape{
		"name": text, "mountPath": text, "subPath": text, "readOnly": truth,
		"mountPropagation":  refused("no training needs it: leave it out"),
		"subPathExpr":       refused("no training needs it: write subPath, or leave it out"),
		"recursiveReadOnly": refused("no training needs it: leave it out"),
	})
}

// volume is one of what the namespace holds.
func volume() shape {
	return fieldsOf(RulePatchVolumes, map[string]shape{
		"name":                  text,
		"persistentVolumeClaim": patched(map[string]shape{"claimName": text, "readOnly": truth}),
		"configMap":             files("name"),
		"secret":                files("secretName"),
		"emptyDir":              patched(map[string]shape{"medium": text, "sizeLimit": amount}),
		"downwardAPI":           podFiles(true),
		"projected": fieldsOf(RulePatchVolumes, map[string]shape{
			"defaultMode": count,
			"sources": list{fieldsOf(RulePatchVolumes, map[string]shape{
				"configMap": projectedFiles(), "secret": projectedFiles(), "downwardAPI": podFiles(false),
				"serviceAccountToken": refused("pods of runtimes have no identity in the cluster: leave it out"),
				"clusterTrustBundle":  refused("pods of runtimes have no identity in the cluster: leave it out"),
				"podCertificate":      refused("pods of runtimes have no identity in the cluster: leave it out"),
			})},
		}),
		"hostPath":  refused("it reaches the machine, and what others left there" + claim),
		"nfs":       refused("it reaches storage of others" + claim),
		"csi":       refused("it reaches storage of others" + claim),
		"ephemeral": refused("it makes a claim of its own, which nobody deletes in time" + claim),
	})
}

const claim = ": name a persistentVolumeClaim, or have an admin put it into a runtime"

func items() shape {
	return list{patched(map[string]shape{"key": text, "path": text, "mode": count})}
}

func files(name string) shape {
	return patched(map[string]shape{name: text, "items": items(), "optional": truth, "defaultMode": count})
}

func projectedFiles() shape {
	return patched(map[string]shape{"name": text, "items": items(), "optional": truth})
}

func podFiles(withMode bool) shape {
	fields := map[string]shape{"items": list{patched(map[string]shape{
		"path": text, "mode": count, "fieldRef": podField(RulePatchFields), "resourceFieldRef": containerField(RulePatchFields),
	})}}
	if withMode {
		fields["defaultMode"] = count
	}
	return patched(fields)
}
