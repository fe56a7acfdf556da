package generator

import (
	"fmt"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"
)

// misfits are objects and what Strict says of them.
var misfits = map[string]struct{ object, says string }{
	"nothing":                  {"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\nbinaryData: {x: aGk=}", ""},
	"a kind of others":         {"apiVersion: example.com/v1\nkind: ConfigMap\ndata: 3", ""},
	"a type that we know less": {"apiVersion: grafana.integreatly.org/v1beta1\nkind: GrafanaDashboard\nspec: {folderUID: a}", ""},
	"no time":                  {"apiVersion: v1\nkind: ConfigMap\nmetadata: {creationTimestamp: yesterday}", `metadata.creationTimestamp: not what the type of ConfigMap has there: got "yesterday"`},
	"no base64":                {"apiVersion: v1\nkind: ConfigMap\nbinaryData: {a: aGk=, b: \"###\"}", `binaryData.b: not what the type of ConfigMap has there: got "###"`},
	"no quantity":              {"apiVersion: v1\nkind: ResourceQuota\nspec: {hard: {cpu: lots, memory: 1Gi}}", `spec.hard.cpu: not what the type of ResourceQuota has there: got "lots"`},
	"one item of a list":       {"apiVersion: networking.k8s.io/v1\nkind: NetworkPolicy\nspec: {ingress: [{}, {ports: [{port: 1}, {endPort: 99999999999}]}]}", `spec.ingress.1.ports.1.endPort: not what the type of NetworkPolicy has there: got 99999999999`},
	"two":                      {"apiVersion: v1\nkind: ConfigMap\nmetadata: [a]\ndata: {x: 5}", `metadata: not what the type of ConfigMap has there: got a list`},
	"an unknown field":         {"apiVersion: v1\nkind: Namespace\nspec: {a: 1}", `spec.a: unknown field: the type of Namespace has none of this name`},
}

func TestStrictSaysWhere(t *testing.T) {
	for name, test := range misfits {
		t.Run(name, func(t *testing.T) {
			var fields map[string]any
			if err := yaml.Unmarshal([]byte(test.object), &fields); err != nil {
				t.Fatal(err)
			}
			wrong, unknown := Strict(fields)
			var said []string
			for _, p := range append(wrong, unknown...) {
				said = append(said, fmt.Sprintf("%s: %s", p.Path, p.Message))
			}
			if got := strings.Join(said, "\n"); got != test.says {
				t.Errorf("got  %s\nwant %s", got, test.says)
			}
		})
	}
}
