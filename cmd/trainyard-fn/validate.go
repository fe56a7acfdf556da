package main

import (
	"context"
	"errors"
	"slices"
	"strings"

	utiljson "k8s.io/apimachinery/pkg/util/json"
	"sigs.k8s.io/kustomize/kyaml/fn/framework"
	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/trainyard/trainyard"
	"github.com/trainyard/trainyard/api/v1alpha1"
	"github.com/trainyard/trainyard/generator"
	"github.com/trainyard/trainyard/generator/problem"
	"github.com/trainyard/trainyard/generator/verify"
	runtimevet "github.com/trainyard/trainyard/generator/vet/runtime"
	"github.com/trainyard/trainyard/generator/vet/trainjob"
)

// kustomizeAnnotation is an annotation of all objects that kustomize sends to transformers and validators.
const kustomizeAnnotation = "kustomize.config.k8s.io/id"

// validate checks runtimes for traps, and TrainJobs against the rules of the platform. TrainJobs are checked even if
// the cluster does not enforce the rules. If trainyard knows the complete Go type of an object, and the object is not a
// runtime, validate checks the object against this type.
func (l *resourceList) validate(ctx context.Context) int {
	if l.isGenerator() {
		return l.leaveMarker("validate")
	}
	rules, err := l.rules(ctx)
	if err != nil {
		return l.reportError(err)
	}
	code := exitOK
	for _, item := range l.Items {
		if !isLocal(item) {
			code = max(code, l.check(item, rules))
		}
	}
	fromKustomize := func(item *yaml.RNode) bool { return item.GetAnnotations()[kustomizeAnnotation] != "" }
	if slices.ContainsFunc(l.Items, fromKustomize) {
		return max(code, l.leaveMisplacedValidator())
	}
	return code
}

func (l *resourceList) rules(ctx context.Context) ([]trainjob.Platform, error) {
	request, err := l.newRequest()
	if err != nil {
		return nil, err
	}
	platforms, err := l.generatePlatforms(ctx, request)
	if err != nil {
		return nil, err
	}
	return trainjob.WithRules(ctx, generator.New(trainyard.CUE), request, platforms)
}

// check validates one object, and returns an exit code. It accepts objects of unknown kinds. However, it reports a
// problem if the object is probably a TrainJob with a misspelled kind or apiVersion.
func (l *resourceList) check(item *yaml.RNode, rules []trainjob.Platform) int {
	const name = "item.json"
	text, err := toJSON(item)
	if err != nil {
		return l.reportError(err)
	}
	if runtimevet.IsRuntimeFile(name, text) {
		found, err := runtimevet.Vet(name, text)
		return max(l.reportAll(item, framework.Error, problemsOf(err), exitInvalid), l.reportAll(item, framework.Error, found.Problems, exitInvalid),
			l.reportAll(item, framework.Info, found.Notes, exitOK))
	}
	if code := l.checkType(item, text); code != exitOK {
		return code
	}
	found, err := trainjob.Vet(name, text, "", rules)
	if missing := (*trainjob.TenantError)(nil); errors.As(err, &missing) {
		return l.reportAll(item, framework.Error, problem.List{{Path: "metadata.namespace", Message: missingTenant(missing)}}, exitInvalid)
	}
	return max(l.reportAll(item, framework.Error, problemsOf(err), exitInvalid), l.reportAll(item, framework.Error, found.Invalid, exitInvalid),
		l.reportAll(item, framework.Error, found.Denied, exitDenied), l.reportAll(item, framework.Warning, found.Unenforced, exitOK))
}

// checkType checks an object against its Go type. In an object that trainyard generated, an unknown field is an
// error. In an object that trainyard did not generate, an unknown field is a warning, because the object may use a
// newer version of the type.
func (l *resourceList) checkType(item *yaml.RNode, text []byte) int {
	var fields map[string]any
	if err := utiljson.Unmarshal(text, &fields); err != nil {
		return l.reportError(err)
	}
	wrong, unknown := verify.Fields(fields)
	severity, code := framework.Warning, exitOK
	if item.GetLabels()[v1alpha1.ManagedByLabel] == "trainyard" {
		severity, code = framework.Error, exitInvalid
	}
	return max(l.reportAll(item, framework.Error, wrong, exitInvalid), l.reportAll(item, severity, unknown, code))
}

// missingTenant returns the message for a *trainjob.TenantError. In this program, the error means that the document
// has no tenants, or that the TrainJob names no namespace.
func missingTenant(e *trainjob.TenantError) string {
	if len(e.Known) == 0 {
		return "want a document with tenants"
	}
	return "the TrainJob has no namespace: want one of " + strings.Join(e.Known, ", ")
}

// problemsOf converts an error to a list of problems. The list is empty if there is no error.
func problemsOf(err error) problem.List {
	var problems problem.List
	if err != nil && !errors.As(err, &problems) {
		return problem.List{{Message: err.Error()}}
	}
	return problems
}
