package bundles

import (
	"embed"
	"path"
	"strings"

	"sigs.k8s.io/yaml"
)

// The settings of Argo CD: how it tells whether objects are healthy, what people can do to them, and what
// of them is not Git's to say. Files are called GROUP_KIND.
//
//go:embed argocd
var argocdSettings embed.FS

// settings are the file for whoever runs Argo CD.
func (b Bundle) settings() (name string, text []byte, err error) {
	if b.Delivery.OpenShift {
		text, err = b.operatorSettings()
		return "argocd.yaml", text, err
	}
	return "argocd-cm.yaml", b.configMap(), nil
}

// configMap is laid over Argo CD's own.
func (b Bundle) configMap() []byte {
	data := map[string]string{}
	for _, file := range settingsIn("health") {
		data["resource.customizations.health."+kindOf(file)] = settingsFile("health", file)
	}
	for _, file := range settingsIn("ignore") {
		data["resource.customizations.ignoreDifferences."+kindOf(file)] = settingsFile("ignore", file)
	}
	for _, kind := range settingsIn("actions") {
		data["resource.customizations.actions."+kind] = string(mustYAML(actionsOf(kind)))
	}
	return mustYAML(map[string]any{
		"apiVersion": "v1",
		"kind":       "ConfigMap",
		"metadata":   map[string]any{"name": "argocd-cm", "namespace": b.argocdNamespace(), "labels": map[string]string{"app.kubernetes.io/part-of": "argocd"}},
		"data":       data,
	})
}

// actions are what people can do to objects of a kind.
type actions struct {
	Discovery   string       `json:"discovery.lua"`
	Definitions []definition `json:"definitions"`
}

type definition struct {
	Name   string `json:"name"`
	Script string `json:"action.lua"`
}

func actionsOf(kind string) actions {
	folder := path.Join("actions", kind)
	a := actions{Discovery: settingsFile(folder, "discovery.lua")}
	for _, file := range settingsIn(folder) {
		if file != "discovery.lua" {
			a.Definitions = append(a.Definitions, definition{kindOf(file), settingsFile(folder, file)})
		}
	}
	return a
}

// settingsIn lists a folder, ordered by name.
func settingsIn(folder string) []string {
	entries, _ := argocdSettings.ReadDir(path.Join("argocd", folder)) // it is embedded
	var names []string
	for _, entry := range entries {
		names = append(names, entry.Name())
	}
	return names
}

func settingsFile(folder, name string) string {
	text, _ := argocdSettings.ReadFile(path.Join("argocd", folder, name)) // it is embedded
	return string(text)
}

func kindOf(file string) string { return strings.TrimSuffix(file, path.Ext(file)) }

// mustYAML writes plain data, which always can be.
func mustYAML(value any) []byte {
	text, _ := yaml.Marshal(value)
	return text
}
