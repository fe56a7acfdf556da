package controlplane_test

import "strings"

// randomPatches returns YAML with random patches for the spec of a TrainJob. The YAML consists of one field:
// podTemplateOverrides for Trainer 2.1, and runtimePatches for later versions. Most patches violate no rule.
func (d dice) randomPatches() string {
	if d.overrides {
		return "podTemplateOverrides: [" + d.override("launcher") + d.of("", ", "+d.override("node")) + "]"
	}
	return "runtimePatches: [" + d.runtimePatch("acme.io/a") + d.of("", ", "+d.runtimePatch("acme.io/b")) + "]"
}

func (d dice) override(job string) string {
	return "{targetJobs: [{name: " + job + "}], metadata: " + d.metadata() + ", spec: " + d.podSpec() + "}"
}

func (d dice) runtimePatch(manager string) string {
	pod := "{metadata: " + d.metadata() + ", spec: " + d.podSpec() + "}"
	job := "{name: " + d.of("launcher", "node") + ", template: {metadata: " + d.metadata() + ", spec: {template: " + pod + "}}}"
	return "{manager: " + manager + ", trainingRuntimeSpec: {template: {metadata: " + d.metadata() + ", spec: {replicatedJobs: [" + job + "]}}}}"
}

func (d dice) metadata() string {
	fields := []string{"annotations: " + d.of("{}", "{}", "{kueue.x-k8s.io/podset-slice-size: b}", d.keys())}
	if d.rarely() {
		fields = append(fields, d.of("labels: "+d.keys(), "finalizers: [example.com/a]", "namespace: other"))
	}
	return "{" + strings.Join(fields, ", ") + "}"
}

func (d dice) podSpec() string {
	fields := []string{"volumes: [" + strings.Join(d.volumes(), ", ") + "]", d.of("containers", "initContainers") + ": [" + d.container() + "]"}
	if d.rarely() {
		unusual := []string{
			"nodeSelector: {pool: a}", "nodeSelector: {zone: b, pool: a}", "nodeSelector: {acme.example/rack: c}", `nodeSelector: {"": a}`, "serviceAccountName: admin", "tolerations: [{operator: Exists}]", "affinity: {nodeAffinity: {}}",
			"schedulingGates: [{name: a}]", "imagePullSecrets: [{name: " + d.secret() + "}]",
		}
		if !d.overrides {
			unusual = append(unusual, "securityContext: {runAsUser: 0}")
		}
		fields = append(fields, d.of(unusual...))
	}
	return "{" + strings.Join(fields, ", ") + "}"
}

func (d dice) volumes() []string {
	var all []string
	for _, name := range d.someOf("data", "settings", "tmp", "storage-data") {
		if name != "data" && name != "settings" && d.usually() {
			continue
		}
		kinds := []string{
			"persistentVolumeClaim: {claimName: data}", "configMap: {name: a}", "emptyDir: {}", "secret: {secretName: hub}",
			"projected: {sources: [{configMap: {name: a}}, {secret: {name: hub}}]}",
		}
		if d.rarely() {
			kinds = []string{
				"hostPath: {path: /}", "nfs: {server: a, path: /a}", "secret: {secretName: " + d.secret() + "}",
				"projected: {sources: [{secret: {name: " + d.secret() + "}}]}", "projected: {sources: [{serviceAccountToken: {path: a}}]}",
			}
		}
		all = append(all, "{name: "+name+", "+d.of(kinds...)+"}")
	}
	return all
}

func (d dice) container() string {
	name := "data"
	if d.rarely() {
		name = d.of("storage-data", "mpi-ssh-auth", "tmp")
	}
	mount := "{name: " + name + ", mountPath: /data" + d.of("", "", "", "", "", "", strings.Repeat("x", 5000)) + d.of("", ", readOnly: true", ", subPath: a", d.mountOption()) + "}"
	fields := []string{"name: " + d.of("identity", "preflight", "sidecar"), "volumeMounts: [" + mount + "]", "env: " + d.env()}
	if !d.overrides && d.rarely() {
		fields = append(fields, "securityContext: {privileged: true}")
	}
	return "{" + strings.Join(fields, ", ") + "}"
}

// mountOption returns an empty string in most calls, and otherwise a random option of a volume mount.
func (d dice) mountOption() string {
	if d.usually() {
		return ""
	}
	return d.of(", mountPropagation: Bidirectional", ", subPathExpr: a", ", recursiveReadOnly: IfPossible")
}
