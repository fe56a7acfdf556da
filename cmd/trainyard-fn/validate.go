package main

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/trainyard/trainyard/generator"
	"github.com/trainyard/trainyard/generator/foreign"
	"github.com/trainyard/trainyard/generator/problem"
	"github.com/trainyard/trainyard/generator/trainjob"
)

// validate judges what the host has: runtimes by the traps of MPI, TrainJobs by the rules of the platform.
// It gives no items back: kustomize would take any for changes.
func (l *resourceList) validate(_ context.Context, platforms []generator.Platform) int {
	rules, err := trainjob.NewPlatform(platforms[0].Environment, platforms[0].Objects)
	if err != nil {
		return l.blame(err)
	}
	code := exitOK
	for _, item := range l.Items {
		if local(item) {
			continue
		}
		if found := l.judge(item, rules); found != exitOK {
			code = found
		}
	}
	l.Items = nil
	return code
}

// judge judges one object; objects of other kinds are passed over.
func (l *resourceList) judge(item map[string]any, rules trainjob.Platform) int {
	const name = "item.json"
	text, err := json.Marshal(item)
	if err != nil {
		return l.blame(err)
	}
	if foreign.Is(name, text) {
		found, err := foreign.Vet(name, text)
		return max(l.found(item, "error", listOf(err), exitInvalid), l.found(item, "error", found.Problems, exitInvalid), l.found(item, "info", found.Notes, exitOK))
	}
	found, err := trainjob.Vet(name, text, "", []trainjob.Platform{rules})
	if without := (*trainjob.TenantError)(nil); errors.As(err, &without) {
		return l.found(item, "error", problem.List{{Path: "metadata.namespace", Message: without.Error()}}, exitInvalid)
	}
	return max(l.found(item, "error", listOf(err), exitInvalid), l.found(item, "error", found.Wrong, exitInvalid),
		l.found(item, "error", found.Denied, exitDenied), l.found(item, "warning", found.Lenient, exitOK))
}

// found makes results of problems of an item; code is returned where there are some.
func (l *resourceList) found(item map[string]any, severity string, problems problem.List, code int) int {
	for _, p := range problems {
		r := result{Message: p.Message, Severity: severity, ResourceRef: refOf(item), File: fileOf(item)}
		if p.Path != "" {
			r.Field = &resultField{p.Path}
		}
		l.Results = append(l.Results, r)
	}
	if len(problems) == 0 {
		return exitOK
	}
	return code
}

// listOf are the problems that an error is.
func listOf(err error) problem.List {
	var problems problem.List
	if err != nil && !errors.As(err, &problems) {
		return problem.List{{Message: err.Error()}}
	}
	return problems
}
