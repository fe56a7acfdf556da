package upstream

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// partialTypes contains Go types that declare only the fields that trainyard uses. The complete Go types of
// GrafanaDashboard and PersesDashboard are in the modules of grafana-operator and Perses. trainyard does not import
// these modules, because they import Kubernetes clients, which would slow down every start of trainyard. Tests in
// test/controlplane check generated objects against the CRDs of both kinds.
var partialTypes = constructors{
	{Group: "grafana.integreatly.org", Version: "v1beta1", Kind: "GrafanaDashboard"}: empty[grafanaDashboard],
	{Group: "perses.dev", Version: "v1alpha1", Kind: "PersesDashboard"}:              empty[persesDashboard],
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

// persesPlugin is a plugin, a variable or a layout of a Perses dashboard. The field Kind contains the type of this
// plugin, variable or layout. The type determines which keys the field Spec can contain.
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
