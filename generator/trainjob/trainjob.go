// Package trainjob checks TrainJobs before somebody submits them: files of them are held against
// what the objects of a platform let each tenant ask for. The rules are guard's; what is here
// reads text, and says where in it a rule is broken.
package trainjob

import (
	"errors"
	"fmt"
	"strings"

	"github.com/trainyard/trainyard/generator/internal/document"
	"github.com/trainyard/trainyard/generator/problem"
	"github.com/trainyard/trainyard/policies/guard"
)

// Report is what was found in a file of TrainJobs, each list in the order of the text.
type Report struct {
	TrainJobs int          // how many the file holds
	Wrong     problem.List // what no API server takes, whatever the rules are
	Denied    problem.List // what rules forbid
	Lenient   problem.List // what rules would forbid, if somebody enforced them
}

// Rules that are not about what a tenant may ask for.
var (
	wrongType = problem.Rule{Name: "type", Doc: "A value has another type than the field, so the API server refuses the TrainJob"}
	misplaced = problem.Rule{Name: "misplaced", Doc: "A TrainJob stands in a file of its own, and not in the platform document"}
	elsewhere = problem.Rule{Name: "namespace", Doc: "A TrainJob goes to the namespace whose rules it is held against"}
)

// Vet checks every TrainJob of a YAML stream or JSON file, also inside a List as kubectl writes
// it; documents of other kinds are passed over. Each is held against the rules of a tenant, by
// default that of its own namespace, on each of the platforms. A text that cannot be read gives a problem.List as
// error; where there are rules for none of the TrainJobs, it is a *TenantError.
func Vet(name string, text []byte, tenant string, platforms []Platform) (Report, error) {
	documents, err := document.ParseStream(name, text)
	if err != nil {
		return Report{}, unreadable(err)
	}
	var report Report
	var nobodys []error // as many as there are TrainJobs for which nobody has rules
	for _, n := range documents {
		for _, job := range jobsIn(n) {
			report.TrainJobs++
			var without *TenantError
			switch err := report.add(job, tenant, platforms); {
			case errors.As(err, &without):
				nobodys = append(nobodys, err)
				report.Wrong = append(report.Wrong, at(job, "metadata.namespace", elsewhere, without.Error()))
			case err != nil:
				return Report{}, err
			}
		}
	}
	if len(nobodys) > 0 && len(nobodys) == report.TrainJobs {
		return Report{}, nobodys[0]
	}
	// Err brings a list into the order of the text; here it is no error.
	_, _, _ = report.Wrong.Err(), report.Denied.Err(), report.Lenient.Err()
	return report, nil
}

// Misplaced finds TrainJobs in a text that should be a platform document. A text that is at fault
// further on is judged by what stands before the fault.
func Misplaced(name string, text []byte) problem.List {
	var found problem.List
	documents, _ := document.ParseStream(name, text) // whoever reads the document reports what is wrong
	for _, n := range documents {
		for _, job := range jobsIn(n) {
			found = append(found, problem.Problem{
				Position: job.Position, Rule: misplaced,
				Message: "a TrainJob is held against a platform document: name its file without -f, and the document with it",
			})
		}
	}
	return found
}

// jobsIn lists the TrainJobs that a document is, or holds.
func jobsIn(n *document.Node) []*document.Node {
	group, _, _ := strings.Cut(textOf(n.Get("apiVersion")), "/")
	switch kind := textOf(n.Get("kind")); {
	case group == "trainer.kubeflow.org" && kind == "TrainJob":
		return []*document.Node{n}
	case !strings.HasSuffix(kind, "List") || n.Get("items") == nil:
		return nil
	}
	var found []*document.Node
	for _, item := range n.Get("items").Items {
		found = append(found, jobsIn(item)...)
	}
	return found
}

func textOf(n *document.Node) string {
	if n == nil {
		return ""
	}
	text, _ := n.Scalar.(string)
	return text
}

// unreadable says of the problems of a text which rule they break.
func unreadable(err error) error {
	var problems problem.List
	if errors.As(err, &problems) {
		return problems.By(problem.Syntax)
	}
	return err
}

// add judges one TrainJob on all platforms.
func (r *Report) add(job *document.Node, tenant string, platforms []Platform) error {
	if version := job.Get("apiVersion"); textOf(version) != "trainer.kubeflow.org/v1alpha1" {
		r.Wrong = append(r.Wrong, at(job, "apiVersion", wrongType, "want trainer.kubeflow.org/v1alpha1, which is what Trainer has"))
	}
	named := textOf(job.Get("metadata").Get("namespace"))
	switch {
	case tenant == "" && named == "":
		tenants := tenantsOf(platforms)
		return &TenantError{Known: tenants}
	case tenant == "":
		tenant = named
	case named != "" && named != tenant:
		r.Wrong = append(r.Wrong, at(job, "metadata.namespace", elsewhere, fmt.Sprintf("want %s, whose rules are asked for, or none", tenant)))
	}
	wrong, denied, lenient := verdicts{of: len(platforms)}, verdicts{of: len(platforms)}, verdicts{of: len(platforms)}
	for _, p := range platforms {
		against := &denied
		if p.lenient {
			against = &lenient
		}
		if err := p.judge(job, tenant, &wrong, against); err != nil {
			return err
		}
	}
	r.Wrong, r.Denied = append(r.Wrong, wrong.list()...), append(r.Denied, denied.list()...)
	for _, p := range lenient.list() {
		p.Message += "; nothing in the cluster refuses it, because spec.admission.enforce is none"
		r.Lenient = append(r.Lenient, p)
	}
	return nil
}

// judge holds a TrainJob against the rules of a tenant.
func (p Platform) judge(job *document.Node, tenant string, wrong, denied *verdicts) error {
	terms, ok := p.tenants[tenant]
	if !ok {
		return &TenantError{Tenant: tenant, Environment: p.environment, Known: tenantsOf([]Platform{p})}
	}
	fields, _ := job.Plain().(map[string]any)
	read, errs := terms.reader.Read(fields)
	for _, err := range errs {
		wrong.add(p.environment, at(job, err.Field, wrongType, err.Detail))
	}
	for _, d := range guard.Judge(read, terms.Parameters) {
		denied.add(p.environment, at(job, d.Path, problem.Rule{Name: string(d.Rule), Doc: d.Rule.Doc()}, d.Says))
	}
	return nil
}
