package upstream

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// dashboardTypes are those of what shows dashboards. The modules of the grafana-operator and of Perses have clients
// of Kubernetes in them, which would cost each start of the command: these are the parts of their types that we use,
// and test/controlplane holds what we emit against the real ones.
var dashboardTypes = map[schema.GroupVersionKind]func() any{
	{Group: "grafana.integreatly.org", Version: "v1beta1", Kind: "GrafanaDashboard"}: func() any { return new(grafanaDashboard) },
	{Group: "perses.dev", Version: "v1alpha1", Kind: "PersesDashboard"}:              func() any { return new(persesDashboard) },
}

type grafanaDashboard struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata"`
	Spec              struct {
		InstanceSelector          metav1.LabelSelector `json:"instanceSelector"`
		AllowCrossNamespaceImport bool                 `json:"allowCrossNamespaceImport"`
		Folder                    string               `json:"folder"`
		JSON                      string               `json:"json"`
		ResyncPeriod              metav1.Duration      `json:"resyncPeriod"`
	} `json:"spec"`
}

type persesDashboard struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata"`
	Spec              struct {
		Display   persesDisplay          `json:"display"`
		Duration  string                 `json:"duration"`
		Variables []persesPlugin         `json:"variables"`
		Panels    map[string]persesPanel `json:"panels"`
		Layouts   []persesPlugin         `json:"layouts"`
	} `json:"spec"`
}

type persesDisplay struct {
	Name        string `json:"name"`
	Description string `json:"description"`
}

// persesPlugin is what Perses leaves to others to define.
type persesPlugin struct {
	Kind string         `json:"kind"`
	Spec map[string]any `json:"spec"`
}

type persesPanel struct {
	Kind string `json:"kind"`
	Spec struct {
		Display persesDisplay `json:"display"`
		Plugin  persesPlugin  `json:"plugin"`
		Queries []struct {
			Kind string `json:"kind"`
			Spec struct {
				Plugin persesPlugin `json:"plugin"`
			} `json:"spec"`
		} `json:"queries"`
	} `json:"spec"`
}
