// Package trainjob checks files of TrainJobs before they are submitted. This package reads the text of the files and
// reports the position of each problem. The rules themselves are in package "guard".
package trainjob

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/trainyard/trainyard/api/v1alpha1"
	"github.com/trainyard/trainyard/generator/internal/document"
	"github.com/trainyard/trainyard/generator/internal/wording"
	"github.com/trainyard/trainyard/generator/problem"
	"github.com/trainyard/trainyard/policies/guard"
)

// Report holds the findings of Vet in one text. Each list in a Report is sorted by position in the
// text.
type Report struct {
	TrainJobs  int          // number of TrainJobs in the file
	Invalid    problem.List // values that the API server refuses even without rules
	Denied     problem.List // values that a rule forbids
	Unenforced problem.List // notes: values that a rule forbids in an environment that does not enforce rules, or that are probably not intended
}

// Rules that do not depend on the parameters of a tenant.
var (
	wrongType      = problem.Rule{Name: "wrong-type", Doc: "Each value of a TrainJob has the type of its field"}
	invalidValue   = problem.Rule{Name: "invalid-value", Doc: "The API server's own checks accept each value of a TrainJob"}
	misplacedJob   = problem.Rule{Name: "misplaced-trainjob", Doc: "A TrainJob needs a file separate from the platform document"}
	wrongNamespace = problem.Rule{Name: "wrong-namespace", Doc: "The namespace of a TrainJob is the tenant whose rules are checked"}
)

const namespacePath = "metadata.namespace"

// Vet checks every TrainJob in a text against the rules of its tenant, on each platform that has this tenant. The text
// is a YAML stream, a JSON file, or a List from kubectl get, and can contain other objects. The argument "tenant" names
// the tenant of all TrainJobs. If this argument is empty, the namespace of each TrainJob names its tenant. If the error
// is nil, the Report contains all problems. If the text cannot be read, the error is a problem.List. If a text without
// TrainJobs has problems, such as an object without a kind, the error is a problem.List that contains these problems.
// For a text with TrainJobs, the error is a *TenantError in three cases. In the first case, no tenant has rules. In the
// second case, the argument "tenant" names a tenant without rules. In the third case, this argument is empty, and no
// TrainJob names a namespace.
func Vet(name string, text []byte, tenant string, platforms []Platform) (Report, error) {
	documents, err := document.ParseStream(name, text)
	if err != nil {
		return Report{}, err
	}
	var report Report
	var withoutTenant []error // one error for each TrainJob without a tenant
	unique := names{}
	for _, n := range documents {
		report.Invalid = append(report.Invalid, findUnrecognized(n)...)
		for _, job := range listJobs(n) {
			report.TrainJobs++
			report.Invalid = append(report.Invalid, unique.add(job, tenant)...)
			if err := report.vet(job, tenant, platforms); err != nil {
				withoutTenant = append(withoutTenant, err)
				report.Invalid = append(report.Invalid, newProblem(job, namespacePath, wrongNamespace, err.Error()))
			}
		}
	}
	if report.TrainJobs == 0 {
		return Report{}, report.Invalid.Err()
	}
	if len(withoutTenant) == report.TrainJobs {
		return Report{}, withoutTenant[0]
	}
	// Err is called only to sort the lists Invalid, Denied and Unenforced. The errors that Err returns are not used,
	// because the report already contains the problems.
	_, _, _ = report.Invalid.Err(), report.Denied.Err(), report.Unenforced.Err()
	return report, nil
}

// FindMisplaced reports TrainJobs that the user has passed as platform documents. FindMisplaced stops at the first
// syntax error of the text.
func FindMisplaced(name string, text []byte) problem.List {
	var found problem.List
	documents, _ := document.ParseStream(name, text) // the error is reported when the platform document is read
	for _, n := range documents {
		for _, job := range listJobs(n) {
			found = append(found, problem.Problem{
				Position: job.Position, Rule: misplacedJob,
				Message: "a TrainJob is not a platform document: pass this file without -f, and pass the platform document with -f",
			})
		}
	}
	return found
}

// vet checks a TrainJob on each platform that has the TrainJob's tenant. Each returned error is a
// *TenantError.
func (r *Report) vet(job *document.Node, tenant string, platforms []Platform) error {
	if job.Get("apiVersion").AsString() != v1alpha1.TrainerAPIVersion {
		r.Invalid = append(r.Invalid, newProblem(job, "apiVersion", wrongType, "want "+v1alpha1.TrainerAPIVersion+", the only version that Trainer has"))
	}
	tenant, err := r.tenantOf(job, tenant, platforms)
	if err != nil {
		return err
	}
	found := newResults(len(platforms))
	for _, p := range platforms {
		if rules, ok := p.tenants[tenant]; ok {
			p.vet(job, tenant, rules, found)
		}
	}
	r.Invalid, r.Denied = append(r.Invalid, found.invalid.listProblems()...), append(r.Denied, found.denied.listProblems()...)
	for _, p := range found.unenforced.listProblems() {
		p.Message += "; the cluster does not refuse the TrainJob, because spec.admission.enforce is none"
		r.Unenforced = append(r.Unenforced, p)
	}
	r.Unenforced = append(r.Unenforced, found.notes.listProblems()...)
	return nil
}

// tenantOf returns the tenant of a TrainJob. If the argument "requested" names a tenant, tenantOf returns this tenant.
// If the TrainJob sets a namespace that differs from the requested tenant, tenantOf also reports a problem. If no
// tenant is requested, tenantOf returns the namespace of the TrainJob. If this namespace is not a tenant, tenantOf
// reports a problem, and the result is empty. Each returned error is a *TenantError.
func (r *Report) tenantOf(job *document.Node, requested string, platforms []Platform) (string, error) {
	known := listTenants(platforms)
	namespace := job.Get("metadata").Get("namespace").AsString()
	switch {
	case len(known) == 0, requested != "" && !slices.Contains(known, requested):
		return "", &TenantError{Tenant: cmp.Or(requested, namespace), Environment: environmentOf(platforms), Known: known}
	case requested == "":
		return r.tenantByNamespace(job, known, environmentOf(platforms))
	case namespace != "" && namespace != requested:
		r.Invalid = append(r.Invalid, newProblem(job, namespacePath, wrongNamespace, fmt.Sprintf("want the namespace %s, as in the flag --tenant, or no namespace", requested)))
	}
	return requested, nil
}

func (r *Report) tenantByNamespace(job *document.Node, known []string, environment string) (string, error) {
	given := job.Get("metadata").Get("namespace")
	namespace := given.AsString()
	switch {
	case slices.Contains(known, namespace):
		return namespace, nil
	case namespace == "" && !given.Empty():
		r.Invalid = append(r.Invalid, newProblem(job, namespacePath, wrongType, "want the name of a namespace, in quotes if it looks like another type"))
	case namespace == "":
		return "", &TenantError{Known: known}
	default:
		r.Invalid = append(r.Invalid, newProblem(job, namespacePath, wrongNamespace, wording.Choice(describeNoRules(namespace, environment), namespace, known)))
	}
	return "", nil
}

// failsAnyway lists rules that matter even if the cluster does not enforce rules: a TrainJob that breaks one of these
// rules fails. Therefore vet reports violations of these rules as problems, and not as notes.
var failsAnyway = map[guard.Rule]bool{guard.RuleUnreadableHostfile: true}

func (p Platform) vet(job *document.Node, tenant string, rules tenantRules, found *results) {
	read, errs := readJob(job, rules.reader)
	refused, consequences := invalidValues(job, read, errs)
	for _, r := range refused {
		found.invalid.add(p.environment, r)
	}
	for _, d := range guard.Check(read, rules.Parameters) {
		forbidden := &found.denied
		if p.unenforced && !failsAnyway[d.Rule] {
			forbidden = &found.unenforced
		}
		if !consequences.includes(d, read) {
			forbidden.add(p.environment, newProblem(job, d.Path, problem.Rule{Name: string(d.Rule), Doc: d.Rule.Doc()}, d.Message))
		}
	}
	violations := p.findViolations(read, tenant, rules)
	for _, v := range violations {
		if !consequences.cover(v.path) {
			found.denied.add(p.environment, newProblem(job, v.path, v.rule, v.message))
		}
	}
	if len(violations) == 0 {
		for _, v := range findDroppedGPUs(read, rules.Runtimes[read.Runtime.Name]) {
			found.notes.add(p.environment, newProblem(job, v.path, v.rule, v.message))
		}
	}
}

// findViolations reports values with which a TrainJob would not run as intended. For example, Kubernetes would refuse
// the pods, or the TrainJob would wait forever. The reported values are problems even if spec.admission.enforce is
// "none". findViolations does not check the rules in the package "guard". If spec.admission.enforce is "none", a
// violation of a rule in the package "guard" is only a note, unless failsAnyway contains the rule.
func (p Platform) findViolations(read guard.Job, tenant string, rules tenantRules) []violation {
	devices, found := p.findResourceProblems(read, rules.Runtimes[read.Runtime.Name])
	found = slices.Concat(devices, found)
	// If the TrainJob has a problem with a device, findViolations does not check quotas. The tenant often has no
	// quota for a device with a wrong name, so findViolations would report the same mistake twice.
	if p.capacity != nil && len(devices) == 0 {
		if shortage := describeShortage(tenant, p.capacity, read, p.unenforced); shortage != "" {
			found = append(found, violation{overCapacity, "spec.trainer.numNodes", shortage})
		}
	}
	return withoutRepetitions(found)
}
