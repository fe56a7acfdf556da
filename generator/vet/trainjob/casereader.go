package trainjob

import (
	"fmt"
	"slices"
	"strings"

	"github.com/trainyard/trainyard/api/message"
	"github.com/trainyard/trainyard/api/v1alpha1"
	"github.com/trainyard/trainyard/generator/internal/document"
	"github.com/trainyard/trainyard/generator/problem"
	"github.com/trainyard/trainyard/policies/cases"
	"github.com/trainyard/trainyard/policies/guard"
)

// These rules identify two kinds of problems: a policy test is invalid, or a policy test fails.
var (
	invalidTest = problem.Rule{Name: "invalid-policy-test", Doc: "A policy test states the expected result for each TrainJob"}
	failedTest  = problem.Rule{Name: "failed-policy-test", Doc: "A TrainJob has the result that a policy test expects"}
)

var (
	fileKeys = []string{"apiVersion", "kind", "cases"}
	caseKeys = []string{"name", "tenant", "user", "namespaceLabels", "before", "trainJob", "admitted", "refused", "says"}
)

type caseReader struct {
	cases    []Case
	names    map[string]bool
	path     string // path of the case that is being read, for problems
	problems problem.List
}

func (r *caseReader) add(at problem.Position, format string, args ...any) {
	r.problems = append(r.problems, problem.Problem{Position: at, Rule: invalidTest, Path: r.path, Message: fmt.Sprintf(format, args...)})
}

func (r *caseReader) document(n *document.Node) {
	r.path = ""
	if n.Get("apiVersion").AsString() != v1alpha1.APIVersion || n.Get("kind").AsString() != cases.Kind {
		r.add(n.Position, "want \"apiVersion: %s\" and \"kind: %s\"", v1alpha1.APIVersion, cases.Kind)
		return
	}
	r.checkKeys(n, fileKeys)
	list := n.Get("cases")
	if list == nil || len(list.Items) == 0 {
		r.add(n.Position, "want a list of cases, got none")
		return
	}
	for i, item := range list.Items {
		r.path = fmt.Sprintf("cases.%d", i)
		r.readCase(item)
	}
}

func (r *caseReader) checkKeys(n *document.Node, known []string) {
	for _, f := range n.Fields {
		r.checkName(f.Position, "key", f.Key, known)
	}
}

func (r *caseReader) checkName(at problem.Position, what, name string, known []string) {
	if slices.Contains(known, name) {
		return
	}
	hint := "want one of " + strings.Join(known, ", ")
	if nearest := message.Nearest(name, known); nearest != "" {
		hint = fmt.Sprintf("did you mean %q?", nearest)
	}
	r.add(at, "unknown %s %s: %s", what, message.Quote(name), hint)
}

// readCase reads one case. If a key is unknown or a value is invalid, readCase skips checkComplete and
// checkAddress, because they could report the same mistake again. For example, checkComplete would
// report a misspelled key as missing.
func (r *caseReader) readCase(n *document.Node) {
	before := len(r.problems)
	r.checkKeys(n, caseKeys)
	c := cases.Case{Name: r.text(n, "name"), Tenant: r.text(n, "tenant"), User: r.text(n, "user"), Says: r.text(n, "says")}
	c.Before, c.TrainJob, c.NamespaceLabels = r.mapping(n, "before"), r.mapping(n, "trainJob"), r.readLabels(n.Get("namespaceLabels"))
	c.Admitted, c.Refused = r.boolean(n, "admitted"), r.rules(n.Get("refused"))
	if len(r.problems) == before {
		r.checkComplete(n, c)
		r.checkAddress(n.Get("before"), c.Tenant)
		r.checkAddress(n.Get("trainJob"), c.Tenant)
	}
	r.names[c.Name] = true
	r.cases = append(r.cases, Case{c.Completed(), n})
}

func (r *caseReader) checkComplete(n *document.Node, c cases.Case) {
	switch {
	case c.Name == "":
		r.add(n.Position, "the case has no name: set \"name\" to a sentence that describes the case")
	case r.names[c.Name]:
		r.add(n.Get("name").Position, "want a unique name, got %s a second time", message.Quote(c.Name))
	case c.Tenant == "":
		r.add(n.Position, "the case has no tenant: set \"tenant\" to the namespace of the TrainJob")
	case c.TrainJob == nil:
		r.add(n.Position, "the case has no trainJob: set \"trainJob\" to the TrainJob that the case submits")
	case c.Admitted == (len(c.Refused) > 0):
		r.add(n.Position, "want either \"admitted: true\" or \"refused: [RULE, ...]\"")
	case c.Admitted && c.Says != "":
		r.add(n.Get("says").Position, `the key "says" is not allowed without the key "refused", because an admitted TrainJob has no message: remove "says"`)
	}
}

// checkAddress reports a wrong apiVersion, kind or namespace of a TrainJob. With a wrong value, the rules of the tenant
// would not apply to the TrainJob. If a TrainJob does not have one of these three fields, checkAddress does not report
// the missing field.
func (r *caseReader) checkAddress(job *document.Node, tenant string) {
	for _, field := range []struct {
		value     *document.Node
		key, want string
	}{
		{job.Get("apiVersion"), "apiVersion", v1alpha1.TrainerAPIVersion},
		{job.Get("kind"), "kind", cases.TrainJobKind},
		{job.Get("metadata").Get("namespace"), "namespace", tenant},
	} {
		if field.value != nil && field.value.AsString() != field.want {
			r.add(field.value.Position, "want \"%[1]s: %[2]s\", or leave out the key: the rules of tenant %[3]q do not apply to an object with another %[1]s", field.key, field.want, tenant)
		}
	}
}

// readLabels reads a mapping from label keys to label values. If the mapping is missing, readLabels returns nil.
func (r *caseReader) readLabels(n *document.Node) map[string]string {
	if n == nil {
		return nil
	}
	if n.Kind != document.Mapping {
		r.add(n.Position, "want a mapping of labels")
	}
	labels := map[string]string{}
	for _, f := range n.Fields {
		labels[f.Key] = r.text(n, f.Key)
	}
	return labels
}

func (r *caseReader) text(n *document.Node, key string) string {
	value := n.Get(key)
	text := value.AsString()
	if value != nil && text == "" {
		r.add(value.Position, "want %q to be text that is not empty, in quotes if it looks like a number or a boolean", key)
	}
	return text
}

func (r *caseReader) boolean(n *document.Node, key string) bool {
	value := n.Get(key)
	if value == nil {
		return false
	}
	boolean, ok := value.Scalar.(bool)
	if !ok {
		r.add(value.Position, "want \"%[1]s: true\", or leave out the key", key)
	}
	return boolean
}

func (r *caseReader) mapping(n *document.Node, key string) map[string]any {
	value := n.Get(key)
	if value == nil {
		return nil
	}
	fields, ok := value.Plain().(map[string]any)
	if !ok {
		r.add(value.Position, "want a TrainJob as the value of %q; its apiVersion, kind, name and namespace are optional", key)
	}
	return fields
}

func (r *caseReader) rules(n *document.Node) []string {
	if n == nil {
		return nil
	}
	if n.Kind != document.List {
		r.add(n.Position, `want a list of rules in the key "refused", such as [node-limit]`)
	}
	var known, names []string
	for _, rule := range guard.Rules() {
		known = append(known, string(rule.Rule))
	}
	for _, item := range n.Items {
		names = append(names, item.AsString())
		r.checkName(item.Position, "rule", item.AsString(), known)
	}
	return names
}
