package verify

import (
	"fmt"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"
)

var typeErrors = map[string]struct{ object, want string }{
	"nothing":                  {"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\nbinaryData: {x: aGk=}", ""},
	"a kind of other projects": {"apiVersion: example.com/v1\nkind: ConfigMap\ndata: 3", ""},
	"an incomplete type":       {"apiVersion: grafana.integreatly.org/v1beta1\nkind: GrafanaDashboard\nspec: {folderUID: a}", ""},
	"a wrong time":             {"apiVersion: v1\nkind: ConfigMap\nmetadata: {creationTimestamp: yesterday}", `metadata.creationTimestamp: wrong type for this field of ConfigMap: got "yesterday"`},
	"wrong base64":             {"apiVersion: v1\nkind: ConfigMap\nbinaryData: {a: aGk=, b: \"###\"}", `binaryData.b: wrong type for this field of ConfigMap: got "###"`},
	"a wrong quantity":         {"apiVersion: v1\nkind: ResourceQuota\nspec: {hard: {cpu: lots, memory: 1Gi}}", `spec.hard.cpu: wrong type for this field of ResourceQuota: got "lots"`},
	"one item of a list":       {"apiVersion: networking.k8s.io/v1\nkind: NetworkPolicy\nspec: {ingress: [{}, {ports: [{port: 1}, {endPort: 99999999999}]}]}", `spec.ingress.1.ports.1.endPort: wrong type for this field of NetworkPolicy: got 99999999999`},
	"two wrong values":         {"apiVersion: v1\nkind: ConfigMap\nmetadata: [a]\ndata: {x: 5}", `metadata: wrong type for this field of ConfigMap: got a list`},
	"an unknown field":         {"apiVersion: v1\nkind: Namespace\nspec: {a: 1}", `spec.a: unknown field: Namespace has no field with this name`},
}

func TestFieldsLocatesProblems(t *testing.T) {
	for name, test := range typeErrors {
		t.Run(name, func(t *testing.T) {
			var fields map[string]any
			if err := yaml.Unmarshal([]byte(test.object), &fields); err != nil {
				t.Fatal(err)
			}
			wrong, unknown := Fields(fields)
			var said []string
			for _, p := range append(wrong, unknown...) {
				said = append(said, fmt.Sprintf("%s: %s", p.Path, p.Message))
			}
			if got := strings.Join(said, "\n"); got != test.want {
				t.Errorf("got  %s\nwant %s", got, test.want)
			}
		})
	}
}
