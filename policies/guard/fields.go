package guard

import "maps"

// In this file, functions build the schemas. With global variables, the program would build all schemas at every start.
// Most runs of the program read no TrainJob, so these runs need no schema.

// trainJob returns the schema of a TrainJob. The argument "versionFields" contains the fields of the spec that depend on
// the version of Trainer. trainJob adds the fields that are the same in all versions.
func trainJob(versionFields fields) object {
	spec := fields{
		"runtimeRef":  jobObject(fields{"apiGroup": text, "kind": text, "name": name}).withRequired("name"),
		"initializer": jobObject(fields{"dataset": initializer(), "model": initializer()}),
		"suspend":     boolean,
		"managedBy":   text,
	}
	maps.Copy(spec, versionFields)
	return jobObject(fields{"apiVersion": text, "kind": text, "metadata": jobMetadata(), "status": anything, "spec": jobObject(spec).withRequired("runtimeRef")})
}

func jobObject(f fields) object { return object{rule: RuleDisallowedField, fields: f} }

// jobMetadata returns the schema of the TrainJob's own metadata. The schema allows any value in fields that the API
// server or controllers set. The rule reserved-metadata checks finalizers and owners.
func jobMetadata() fieldSchema {
	return jobObject(fields{
		"name": jobName, "generateName": text, "namespace": text, "labels": mapping{text}, "annotations": mapping{text},
		"finalizers": anything, "ownerReferences": anything, "managedFields": anything, "uid": anything, "resourceVersion": anything,
		"generation": anything, "creationTimestamp": anything, "deletionTimestamp": anything, "deletionGracePeriodSeconds": anything, "selfLink": anything,
	})
}

func initializer() fieldSchema {
	return jobObject(fields{"storageUri": storageURI, "env": variablesSchema(RuleDisallowedField), "secretRef": jobObject(fields{"name": text})})
}

// trainerSchema returns the schema of spec.trainer. The argument is the schema of the field numProcPerNode, whose
// type depends on the version of Trainer.
func trainerSchema(numProcPerNode fieldSchema) object {
	return jobObject(fields{
		"image": text, "command": list{of: text, max: 128}, "args": list{of: text, max: 128}, "env": variablesSchema(RuleDisallowedField), "numNodes": integer32, "numProcPerNode": numProcPerNode,
		"resourcesPerNode": jobObject(fields{
			"limits": mapping{quantity}, "requests": mapping{quantity},
			"claims": forbiddenField("the GPU limit does not count devices of resource claims; leave it out, and request the devices in limits"),
		}),
	})
}

// variablesSchema returns the schema of a container's environment variables. An unknown field in a variable violates
// the given rule. An unknown source in valueFrom violates RuleDisallowedVariableSource.
func variablesSchema(rule Rule) fieldSchema {
	key := object{rule: rule, fields: fields{"name": text, "key": text, "optional": boolean}}.withRequired("key")
	variable := object{rule: rule, fields: fields{
		"name": text, "value": text,
		"valueFrom": object{rule: RuleDisallowedVariableSource, fields: fields{
			"configMapKeyRef": key, "secretKeyRef": key,
			"fieldRef": podField(rule), "resourceFieldRef": containerResource(rule),
		}},
	}}
	return list{of: variable.withRequired("name"), key: "name", max: 128}
}

func podField(rule Rule) fieldSchema {
	return object{rule: rule, fields: fields{"apiVersion": text, "fieldPath": text}}.withRequired("fieldPath")
}

func containerResource(rule Rule) fieldSchema {
	return object{rule: rule, fields: fields{"containerName": text, "resource": text, "divisor": quantity}}.withRequired("resource")
}
