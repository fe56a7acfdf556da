package main

import (
	"cmp"
	"errors"
	"strings"

	"sigs.k8s.io/kustomize/kyaml/fn/framework"
	"sigs.k8s.io/kustomize/kyaml/kio/kioutil"
	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/trainyard/trainyard/generator/problem"
)

func (l *resourceList) report(object *yaml.RNode, severity framework.Severity, p problem.Problem) {
	r := &framework.Result{Message: p.Message, Severity: severity, ResourceRef: &yaml.ResourceIdentifier{
		TypeMeta: yaml.TypeMeta{APIVersion: object.GetApiVersion(), Kind: object.GetKind()},
		NameMeta: yaml.NameMeta{Name: object.GetName(), Namespace: object.GetNamespace()},
	}}
	annotations := object.GetAnnotations()
	if path := cmp.Or(annotations[kioutil.PathAnnotation], annotations[kioutil.LegacyPathAnnotation]); path != "" { //nolint:staticcheck // older functions use the legacy key
		r.File = &framework.File{Path: path}
	}
	if p.Path != "" {
		r.Field = &framework.Field{Path: p.Path}
	}
	if p.Rule.Name != "" {
		r.Tags = map[string]string{"rule": p.Rule.Name}
	}
	l.Results = append(l.Results, r)
}

// reportAll reports the problems of an object. If there are problems, reportAll returns the argument "code". If there
// are no problems, reportAll returns exitOK.
func (l *resourceList) reportAll(object *yaml.RNode, severity framework.Severity, problems problem.List, code int) int {
	for _, p := range problems {
		l.report(object, severity, p)
	}
	if len(problems) == 0 {
		return exitOK
	}
	return code
}

func (l *resourceList) reportUsage(message string) int {
	l.Results = append(l.Results, &framework.Result{Message: message, Severity: framework.Error})
	return exitInvalid
}

// reportError reports an error that stops the function: the problems of the functionConfig, or any other error.
func (l *resourceList) reportError(err error) int {
	var problems problem.List
	if errors.As(err, &problems) {
		return l.reportAll(l.FunctionConfig, framework.Error, problems, exitInvalid)
	}
	code := l.reportUsage(err.Error())
	if bug := (*problem.FaultError)(nil); errors.As(err, &bug) {
		return exitInternal
	}
	return code
}

// formatResult formats a result as one line for standard error, because kustomize does not show results.
func formatResult(r *framework.Result) string {
	fields := []string{string(r.Severity)}
	if r.File != nil {
		fields = append(fields, r.File.Path)
	}
	if r.ResourceRef != nil {
		fields = append(fields, strings.TrimSpace(r.ResourceRef.Kind+" "+r.ResourceRef.Name))
	}
	if r.Field != nil {
		fields = append(fields, r.Field.Path)
	}
	return strings.Join(append(fields, r.Message), ": ")
}
