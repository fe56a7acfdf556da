package guard

import "maps"

func patchObject(f fields) object { return object{rule: RuleDisallowedPatchField, fields: f} }

const orOtherRuntime = ": leave this field out, or use a runtime that sets it"

// patchMetadata returns the schema of the metadata that a patch can set on pods, Jobs and the JobSet.
func patchMetadata() fieldSchema {
	return patchObject(fields{
		"labels": mapping{text}, "annotations": mapping{text},
		"name":       forbiddenField("the name of the TrainJob determines the names of pods, Jobs and the JobSet: leave this field out"),
		"namespace":  forbiddenField("pods run in the namespace of the TrainJob: leave this field out"),
		"finalizers": forbiddenField("only Trainer sets finalizers: leave this field out"),
	})
}

// podSpec returns the schema of a patched pod spec. The argument "versionFields" holds the forbidden fields that only
// some versions of Trainer have.
func podSpec(versionFields fields) fieldSchema {
	spec := fields{
		"volumes": list{of: volumeSchema(), key: "name", max: 128}, "containers": list{of: container(versionFields), key: "name", max: 64}, "initContainers": list{of: container(versionFields), key: "name", max: 64}, "nodeSelector": mapping{text},
		"affinity":           forbiddenField("a patch would replace the whole affinity of the runtime" + orOtherRuntime),
		"tolerations":        forbiddenField("a patch would replace all tolerations of the runtime, and could let pods run on cluster nodes that taints reserve for other users" + orOtherRuntime),
		"schedulingGates":    forbiddenField("only Kueue sets scheduling gates: leave it out"),
		"serviceAccountName": forbiddenField("another ServiceAccount would give the job other rights" + orOtherRuntime),
		"imagePullSecrets":   forbiddenField("the runtime decides the image and how to pull it" + orOtherRuntime),
	}
	maps.Copy(spec, versionFields)
	return patchObject(spec)
}

func container(versionFields fields) fieldSchema {
	f := fields{"name": name, "env": variablesSchema(RuleDisallowedPatchField), "volumeMounts": list{of: volumeMount(), key: "name", max: 128}}
	if schema, ok := versionFields["securityContext"]; ok {
		f["securityContext"] = schema
	}
	return patchObject(f).withRequired("name")
}

func volumeMount() fieldSchema {
	return patchObject(fields{
		"name": text, "mountPath": text, "subPath": text, "readOnly": boolean,
		"mountPropagation":  forbiddenField("training programs do not need this field: leave it out"),
		"subPathExpr":       forbiddenField("training programs do not need the field subPathExpr: write subPath instead, or leave subPathExpr out"),
		"recursiveReadOnly": forbiddenField("training programs do not need this field: leave it out"),
	}).withRequired("name", "mountPath")
}

const orClaim = ": use a persistentVolumeClaim, or ask an admin to add the volume to a runtime"

// volumeSchema returns the schema of a volume. Only volumes from the TrainJob's own namespace are allowed.
func volumeSchema() fieldSchema {
	const defaultMode = "defaultMode" // a field that several types of volumes have
	const noIdentity = forbiddenField("pods of runtimes have no identity in the cluster: leave it out")
	return object{rule: RuleDisallowedVolume, required: []string{"name"}, fields: fields{
		"name":                  text,
		"persistentVolumeClaim": patchObject(fields{"claimName": text, "readOnly": boolean}).withRequired("claimName"),
		"configMap":             volumeFiles(fields{"name": text, defaultMode: integer32}),
		"secret":                volumeFiles(fields{"secretName": text, defaultMode: integer32}),
		"emptyDir":              patchObject(fields{"medium": text, "sizeLimit": quantity}),
		"downwardAPI":           patchObject(fields{"items": podFieldFiles(), defaultMode: integer32}),
		"projected": object{rule: RuleDisallowedVolume, fields: fields{
			defaultMode: integer32,
			"sources": list{of: object{rule: RuleDisallowedVolume, fields: fields{
				"configMap": volumeFiles(fields{"name": text}), "secret": volumeFiles(fields{"name": text}), "downwardAPI": patchObject(fields{"items": podFieldFiles()}),
				"serviceAccountToken": noIdentity, "clusterTrustBundle": noIdentity, "podCertificate": noIdentity,
			}}},
		}},
		"hostPath":  forbiddenField("this volume gives access to the cluster node and to files that others left there" + orClaim),
		"nfs":       forbiddenField("this volume can give access to other teams' storage" + orClaim),
		"csi":       forbiddenField("this volume can give access to other teams' storage" + orClaim),
		"ephemeral": forbiddenField("this volume creates a claim that is not deleted in time" + orClaim),
	}}
}

// volumeFiles returns the schema of a volume whose files come from a ConfigMap or a Secret.
func volumeFiles(f fields) fieldSchema {
	f["items"], f["optional"] = list{of: patchObject(fields{"key": text, "path": text, "mode": integer32}).withRequired("key", "path")}, boolean
	return patchObject(f)
}

// podFieldFiles returns the schema of the files of a downwardAPI volume.
func podFieldFiles() fieldSchema {
	return list{of: patchObject(fields{
		"path": text, "mode": integer32, "fieldRef": podField(RuleDisallowedPatchField), "resourceFieldRef": containerResource(RuleDisallowedPatchField),
	}).withRequired("path")}
}
