package bundles

import (
	"embed"
	"path"
	"strings"

	"sigs.k8s.io/yaml"
)

// argocdSettings contains settings of Argo CD for kinds of objects. The folder "health" contains health checks, and the
// folder "actions" contains actions for users. The folder "ignore" contains lists of fields that Argo CD must not
// compare with Git. In the folders "health" and "ignore", each file is for one kind, and its name is GROUP_KIND plus an
// extension. In the folder "actions", each subfolder is for one kind, and its name is GROUP_KIND.
//
//go:embed argocd
var argocdSettings embed.FS

// configMap returns the settings as a patch for Argo CD's own ConfigMap.
func (a argocdWriter) configMap() fields {
	data := map[string]string{}
	for _, file := range settingsIn("health") {
		data["resource.customizations.health."+withoutExtension(file)] = settingsFile("health", file)
	}
	for _, file := range settingsIn("ignore") {
		data["resource.customizations.ignoreDifferences."+withoutExtension(file)] = settingsFile("ignore", file)
	}
	for _, kind := range settingsIn("actions") {
		data["resource.customizations.actions."+kind] = actionsOf(kind)
	}
	labels := map[string]string{"app.kubernetes.io/part-of": "argocd"}
	return newObject("v1", "ConfigMap", fields{"name": "argocd-cm", "namespace": a.Namespace, "labels": labels}, fields{"data": data})
}

// operatorSettings returns the settings in the form that the OpenShift GitOps operator reads.
func (a argocdWriter) operatorSettings() fields {
	var checks, actions, ignored []fields
	for _, file := range settingsIn("health") {
		checks = append(checks, kindSettings(withoutExtension(file), "check", settingsFile("health", file)))
	}
	for _, kind := range settingsIn("actions") {
		actions = append(actions, kindSettings(kind, "action", actionsOf(kind)))
	}
	for _, file := range settingsIn("ignore") {
		var customization any
		_ = yaml.Unmarshal([]byte(settingsFile("ignore", file)), &customization) // cannot fail: the embedded file is valid YAML
		ignored = append(ignored, kindSettings(withoutExtension(file), "customization", customization))
	}
	return newObject("argoproj.io/v1beta1", "ArgoCD", fields{"name": a.Namespace, "namespace": a.Namespace}, fields{"spec": fields{
		"resourceHealthChecks": checks, "resourceActions": actions, "resourceIgnoreDifferences": fields{"resourceIdentifiers": ignored},
	}})
}

func kindSettings(groupKind, key string, setting any) fields {
	group, kind, _ := strings.Cut(groupKind, "_")
	return fields{"group": group, "kind": kind, key: setting}
}

func actionsOf(kind string) string {
	folder := path.Join("actions", kind)
	var definitions []fields
	for _, file := range settingsIn(folder) {
		if file != "discovery.lua" {
			definitions = append(definitions, fields{"name": withoutExtension(file), "action.lua": settingsFile(folder, file)})
		}
	}
	return mustYAML(fields{"discovery.lua": settingsFile(folder, "discovery.lua"), "definitions": definitions})
}

func settingsIn(folder string) []string {
	entries, _ := argocdSettings.ReadDir(path.Join("argocd", folder)) // an embedded folder is always readable
	var names []string
	for _, entry := range entries {
		names = append(names, entry.Name())
	}
	return names
}

func settingsFile(folder, name string) string {
	text, _ := argocdSettings.ReadFile(path.Join("argocd", folder, name)) // an embedded file is always readable
	return string(text)
}

func withoutExtension(file string) string { return strings.TrimSuffix(file, path.Ext(file)) }

// mustYAML converts a value to YAML. It ignores errors, so callers may pass only values whose conversion cannot fail.
func mustYAML(value any) string {
	text, _ := yaml.Marshal(value)
	return string(text)
}
