package main

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"

	"github.com/trainyard/trainyard"
	"github.com/trainyard/trainyard/generator"
	"github.com/trainyard/trainyard/generator/foreign"
	"github.com/trainyard/trainyard/generator/problem"
	"github.com/trainyard/trainyard/generator/trainjob"
)

// validate judges what the host has: runtimes by the traps of MPI, TrainJobs by the rules of the
// platform, also where nothing in the cluster enforces them, and what else we could have made by upstream's
// types. It changes nothing.
func (l *resourceList) validate(ctx context.Context) int {
	if l.generates() {
		return l.witness("validate")
	}
	rules, err := l.rules(ctx)
	if err != nil {
		return l.blame(err)
	}
	code := exitOK
	for _, item := range l.Items {
		if !local(item) {
			code = max(code, l.judge(item, rules))
		}
	}
	if slices.ContainsFunc(l.Items, fromKustomize) { // it would take any for changes
		return max(code, l.misplaced())
	}
	return code
}

// rules are those of the platform.
func (l *resourceList) rules(ctx context.Context) ([]trainjob.Platform, error) {
	request, err := l.request()
	if err != nil {
		return nil, err
	}
	platforms, err := l.platforms(ctx, request)
	if err != nil {
		return nil, err
	}
	return trainjob.Judging(ctx, generator.New(trainyard.CUE), request, platforms)
}

// judge judges one object; objects of kinds that we know nothing of are passed over.
func (l *resourceList) judge(item map[string]any, rules []trainjob.Platform) int {
	const name = "item.json"
	text, err := json.Marshal(item)
	if err != nil {
		return l.blame(err)
	}
	if foreign.Is(name, text) {
		found, err := foreign.Vet(name, text)
		return max(l.found(item, "error", listOf(err), exitInvalid), l.found(item, "error", found.Problems, exitInvalid), l.found(item, "info", found.Notes, exitOK))
	}
	if code := l.verify(item); code != exitOK {
		return code
	}
	found, err := trainjob.Vet(name, text, "", rules)
	if without := (*trainjob.TenantError)(nil); errors.As(err, &without) {
		return l.found(item, "error", problem.List{{Path: "metadata.namespace", Message: homeless(without)}}, exitInvalid)
	}
	return max(l.found(item, "error", listOf(err), exitInvalid), l.found(item, "error", found.Wrong, exitInvalid),
		l.found(item, "error", found.Denied, exitDenied), l.found(item, "warning", found.Lenient, exitOK))
}

// verify holds an object to its type. A field that the type has not is wrong in what we have made; what others
// made may be for a newer version.
func (l *resourceList) verify(item map[string]any) int {
	wrong, unknown := generator.Strict(item)
	severity, code := "warning", exitOK
	metadata, _ := item["metadata"].(map[string]any)
	if labels, _ := metadata["labels"].(map[string]any); labels["app.kubernetes.io/managed-by"] == "trainyard" {
		severity, code = "error", exitInvalid
	}
	return max(l.found(item, "error", wrong, exitInvalid), l.found(item, severity, unknown, code))
}

// found makes results of problems of an item; code is returned where there are some.
func (l *resourceList) found(item map[string]any, severity string, problems problem.List, code int) int {
	for _, p := range problems {
		l.about(item, severity, p)
	}
	if len(problems) == 0 {
		return exitOK
	}
	return code
}

// homeless says of a TrainJob without rules where it would have some.
func homeless(e *trainjob.TenantError) string {
	who := "it has none"
	if e.Tenant != "" {
		who = problem.Quote(e.Tenant) + " has no rules for TrainJobs"
	}
	switch {
	case len(e.Known) == 0:
		return who + ": want a document with tenants"
	case e.Tenant != "" && problem.Nearest(e.Tenant, e.Known) != "":
		return who + meant(e.Tenant, e.Known)
	}
	return who + ": want one of " + strings.Join(e.Known, ", ")
}

// listOf are the problems that an error is.
func listOf(err error) problem.List {
	var problems problem.List
	if err != nil && !errors.As(err, &problems) {
		return problem.List{{Message: err.Error()}}
	}
	return problems
}
