package guard

import "maps"

// Tables are made when they are asked for: most runs of whoever links them look at no TrainJob.

// trainJob is a TrainJob whose spec has these fields besides those that all versions of Trainer have.
func trainJob(spec map[string]shape) object {
	fields := map[string]shape{
		"runtimeRef":  fieldsOf(RuleFields, map[string]shape{"apiGroup": text, "kind": text, "name": text}),
		"initializer": fieldsOf(RuleFields, map[string]shape{"dataset": initializer(), "model": initializer()}),
		"suspend":     truth,
		"managedBy":   text,
	}
	maps.Copy(fields, spec)
	return fieldsOf(RuleFields, map[string]shape{
		"apiVersion": text, "kind": text, "metadata": jobMetadata(), "status": anything,
		"spec": fieldsOf(RuleFields, fields),
	})
}

func fieldsOf(rule Rule, fields map[string]shape) object { return object{rule, fields} }

// jobMetadata is the TrainJob's own; what the API server fills in is its business.
func jobMetadata() shape {
	return fieldsOf(RuleFields, map[string]shape{
		"name": text, "generateName": text, "namespace": text, "labels": mapping{text}, "annotations": mapping{text},
		"finalizers": anything, "ownerReferences": anything, "managedFields": anything, "uid": anything, "resourceVersion": anything,
		"generation": anything, "creationTimestamp": anything, "deletionTimestamp": anything, "deletionGracePeriodSeconds": anything, "selfLink": anything,
	})
}

func initializer() shape {
	return fieldsOf(RuleFields, map[string]shape{
		"storageUri": text, "env": variables(RuleFields), "secretRef": fieldsOf(RuleFields, map[string]shape{"name": text}),
	})
}

// trainer is spec.trainer, with what numProcPerNode may be.
func trainer(processes shape) object {
	return fieldsOf(RuleFields, map[string]shape{
		"image": text, "command": list{text}, "args": list{text}, "env": variables(RuleFields), "numNodes": count, "numProcPerNode": processes,
		"resourcesPerNode": fieldsOf(RuleFields, map[string]shape{
			"limits": mapping{amount}, "requests": mapping{amount},
			"claims": refused("nobody counts the devices of claims: leave it out, and ask for them in limits"),
		}),
	})
}

// variables are those of a container. A rule forbids other fields than these, and another one other sources.
func variables(rule Rule) shape {
	key := fieldsOf(rule, map[string]shape{"name": text, "key": text, "optional": truth})
	return list{fieldsOf(rule, map[string]shape{
		"name": text, "value": text,
		"valueFrom": fieldsOf(RuleEnvSources, map[string]shape{
			"configMapKeyRef": key, "secretKeyRef": key,
			"fieldRef": podField(rule), "resourceFieldRef": containerField(rule),
		}),
	})}
}

func podField(rule Rule) shape {
	return fieldsOf(rule, map[string]shape{"apiVersion": text, "fieldPath": text})
}

func containerField(rule Rule) shape {
	return fieldsOf(rule, map[string]shape{"containerName": text, "resource": text, "divisor": amount})
}
