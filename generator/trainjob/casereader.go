package trainjob

import (
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/trainyard/trainyard/generator/internal/document"
	"github.com/trainyard/trainyard/generator/problem"
	"github.com/trainyard/trainyard/policies/cases"
	"github.com/trainyard/trainyard/policies/guard"
)

// Rules of policy tests.
var (
	badCase = problem.Rule{Name: "policy-test", Doc: "A policy test says of each TrainJob what should become of it"}
	unlike  = problem.Rule{Name: "policy-test-failed", Doc: "A TrainJob is judged as a policy test expects"}
)

// What files of cases, and cases, may say.
var (
	fileKeys = []string{"apiVersion", "kind", "cases"}
	caseKeys = []string{"name", "tenant", "user", "before", "trainJob", "admitted", "refused", "says"}
)

// caseReader collects the cases of a file, and what is wrong with them.
type caseReader struct {
	file     string
	cases    []Case
	seen     map[string]bool // names
	path     string          // of what is being read
	problems problem.List
}

func readBounded(path string) ([]byte, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	return io.ReadAll(io.LimitReader(file, maxCases))
}

func (r *caseReader) add(n *document.Node, format string, args ...any) {
	r.problems = append(r.problems, problem.Problem{Position: n.Position, Rule: badCase, Path: r.path, Message: fmt.Sprintf(format, args...)})
}

func (r *caseReader) document(n *document.Node) {
	r.path = ""
	if textOf(n.Get("apiVersion")) != cases.APIVersion || textOf(n.Get("kind")) != cases.Kind {
		r.add(n, "want apiVersion: %s and kind: %s", cases.APIVersion, cases.Kind)
		return
	}
	r.keys(n, fileKeys)
	list := n.Get("cases")
	if list == nil || len(list.Items) == 0 {
		r.add(n, "want a list of cases, got none")
		return
	}
	for i, item := range list.Items {
		r.path = index(i)
		r.oneCase(item)
	}
}

// keys finds those that nobody reads.
func (r *caseReader) keys(n *document.Node, known []string) {
	for _, f := range n.Fields {
		if slices.Contains(known, f.Key) {
			continue
		}
		hint := "want one of " + strings.Join(known, ", ")
		if meant := problem.Nearest(f.Key, known); meant != "" {
			hint = fmt.Sprintf("did you mean %s?", meant)
		}
		r.add(&document.Node{Position: f.Position}, "unknown key %s: %s", problem.Quote(f.Key), hint)
	}
}

// oneCase reads a case, and finds out whether it tests something.
func (r *caseReader) oneCase(n *document.Node) {
	found := len(r.problems)
	r.keys(n, caseKeys)
	c := cases.Case{Name: r.text(n, "name"), Tenant: r.text(n, "tenant"), User: r.text(n, "user"), Says: r.text(n, "says")}
	c.Before, c.TrainJob = r.mapping(n, "before"), r.mapping(n, "trainJob")
	c.Admitted, c.Refused = r.truth(n, "admitted"), r.rules(n.Get("refused"))
	if len(r.problems) == found { // else what is missing may be what was written wrong
		r.complete(n, c)
		r.addressed(n.Get("before"), c.Tenant)
		r.addressed(n.Get("trainJob"), c.Tenant)
	}
	r.seen[c.Name] = true
	r.cases = append(r.cases, Case{c.Completed(), n})
}

func (r *caseReader) complete(n *document.Node, c cases.Case) {
	switch {
	case c.Name == "":
		r.add(n, "missing key name: a sentence that says what is tried")
	case r.seen[c.Name]:
		r.add(n.Get("name"), "want a name of its own, got %s a second time", problem.Quote(c.Name))
	case c.Tenant == "":
		r.add(n, "missing key tenant: the namespace that the TrainJob is for")
	case c.TrainJob == nil:
		r.add(n, "missing key trainJob: what is submitted")
	case c.Admitted == (len(c.Refused) > 0):
		r.add(n, "want either admitted: true or refused: [RULE, ...]")
	case c.Admitted && c.Says != "":
		r.add(n.Get("says"), "not allowed with admitted: what is admitted says nothing")
	}
}

// addressed finds a TrainJob that the tenant's rules would never see.
func (r *caseReader) addressed(job *document.Node, tenant string) {
	for _, want := range []struct {
		value *document.Node
		key   string
		text  string
	}{
		{job.Get("apiVersion"), "apiVersion", cases.TrainJobAPI},
		{job.Get("kind"), "kind", cases.TrainJobKind},
		{job.Get("metadata").Get("namespace"), "namespace", tenant},
	} {
		if want.value != nil && textOf(want.value) != want.text {
			r.add(want.value, "want %s: %s, or none: rules of %s judge nothing else", want.key, want.text, tenant)
		}
	}
}

func (r *caseReader) text(n *document.Node, key string) string {
	value := n.Get(key)
	text := textOf(value)
	if value != nil && text == "" {
		r.add(value, "want %s to be text that is not empty, in quotes if it looks like something else", key)
	}
	return text
}

func (r *caseReader) truth(n *document.Node, key string) bool {
	value := n.Get(key)
	if value == nil {
		return false
	}
	truth, is := value.Scalar.(bool)
	if !is || value.Kind != document.Scalar {
		r.add(value, "want %s: true", key)
	}
	return truth
}

func (r *caseReader) mapping(n *document.Node, key string) map[string]any {
	value := n.Get(key)
	if value == nil {
		return nil
	}
	fields, is := value.Plain().(map[string]any)
	if !is {
		r.add(value, "want %s to be a TrainJob, of which apiVersion, kind, name and namespace may be left out", key)
	}
	return fields
}

// rules are names of rules, which somebody may have mistyped.
func (r *caseReader) rules(n *document.Node) []string {
	if n == nil {
		return nil
	}
	var known, names []string
	for _, rule := range guard.Rules() {
		known = append(known, string(rule.Rule))
	}
	if n.Kind != document.List {
		r.add(n, "want refused to be a list of rules, such as [nodes]")
	}
	for _, item := range n.Items {
		name := textOf(item)
		names = append(names, name)
		if slices.Contains(known, name) {
			continue
		}
		hint := "want one of " + strings.Join(known, ", ")
		if meant := problem.Nearest(name, known); meant != "" {
			hint = fmt.Sprintf("did you mean %s?", meant)
		}
		r.add(item, "unknown rule %s: %s", problem.Quote(name), hint)
	}
	return names
}
