package main

import (
	"errors"

	"github.com/trainyard/trainyard/generator"
	"github.com/trainyard/trainyard/generator/problem"
)

// say has a result about a place in the functionConfig.
func (l *resourceList) say(severity string, p problem.Problem) {
	l.about(l.FunctionConfig, severity, p)
}

// about has a result about a place in an object.
func (l *resourceList) about(object map[string]any, severity string, p problem.Problem) {
	r := result{Message: p.Message, Severity: severity, ResourceRef: refOf(object), File: fileOf(object)}
	if p.Path != "" {
		r.Field = &resultField{p.Path}
	}
	if p.Rule.Name != "" {
		r.Tags = tags{"rule": p.Rule.Name}
	}
	l.Results = append(l.Results, r)
}

// fail says what is wrong with how the function is used.
func (l *resourceList) fail(message string) int {
	l.Results = append(l.Results, result{Message: message, Severity: "error"})
	return exitInvalid
}

// blame says what is wrong with the document, each problem by itself, or with us.
func (l *resourceList) blame(err error) int {
	var problems problem.List
	var unknown *generator.EnvironmentError
	var bug *generator.BugError
	switch {
	case errors.As(err, &problems):
		for _, p := range problems {
			l.say("error", p)
		}
		return exitInvalid
	case errors.As(err, &unknown):
		return l.fail(unknown.Error())
	case errors.As(err, &bug):
		l.fail(err.Error())
		return exitInternal
	}
	return l.fail(err.Error())
}
