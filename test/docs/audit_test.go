package docs

import (
	"os"
	"strings"
	"testing"

	"k8s.io/apiserver/pkg/apis/audit"
	auditpolicy "k8s.io/apiserver/pkg/audit/policy"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"

	"github.com/trainyard/trainyard/test/doctest"
	"github.com/trainyard/trainyard/test/repo"
)

// TestAuditPolicy evaluates the audit policy in docs/logs.md with the code of the API server, and checks the audit
// levels of several requests.
func TestAuditPolicy(t *testing.T) {
	page, err := os.ReadFile(repo.Path(t, "docs", "logs.md"))
	if err != nil {
		t.Fatal(err)
	}
	var lines []string
	for _, step := range doctest.Parse(t, string(page)) {
		if step.File == "/tmp/audit-policy.yaml" {
			lines = step.Lines
		}
	}
	policy, err := auditpolicy.LoadPolicyFromBytes([]byte(strings.Join(lines, "\n")))
	if err != nil {
		t.Fatal(err)
	}
	evaluator := auditpolicy.NewPolicyRuleEvaluator(policy)
	for name, tc := range map[string]struct {
		verb, group, resource, subresource string
		want                               audit.Level
	}{
		"creating a TrainJob":          {"create", "trainer.kubeflow.org", "trainjobs", "", audit.LevelRequest},
		"changing a TrainJob":          {"patch", "trainer.kubeflow.org", "trainjobs", "", audit.LevelRequest},
		"deleting a TrainJob":          {"delete", "trainer.kubeflow.org", "trainjobs", "", audit.LevelRequest},
		"changing a runtime":           {"update", "trainer.kubeflow.org", "clustertrainingruntimes", "", audit.LevelRequest},
		"deleting a TrainJobSource":    {"delete", "trainyard.dev", "trainjobsources", "", audit.LevelRequest},
		"deleting a pod":               {"delete", "", "pods", "", audit.LevelMetadata},
		"changing a TrainJob's status": {"patch", "trainer.kubeflow.org", "trainjobs", "status", audit.LevelNone},
		"reading a TrainJob":           {"get", "trainer.kubeflow.org", "trainjobs", "", audit.LevelNone},
		"creating a Secret":            {"create", "", "secrets", "", audit.LevelNone},
	} {
		t.Run(name, func(t *testing.T) {
			request := authorizer.AttributesRecord{
				User: &user.DefaultInfo{Name: "ada"}, Verb: tc.verb, APIGroup: tc.group, Resource: tc.resource, Subresource: tc.subresource,
				Namespace: "team", Name: "bert", ResourceRequest: true,
			}
			if got := evaluator.EvaluatePolicyRule(request).Level; got != tc.want {
				t.Errorf("the level is %s, want %s", got, tc.want)
			}
		})
	}
}
