package main

import (
	"encoding/xml"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/trainyard/trainyard/generator/problem"
	"github.com/trainyard/trainyard/generator/trainjob"
	"github.com/trainyard/trainyard/policies/cases"
)

// What became of a case.
const (
	passedCase = "passed"
	failedCase = "failed"
)

// outcome is what became of a case of a policy test, in one environment. Its place is the case's or,
// if it failed, that of what it expects.
type outcome struct {
	problem.Position
	Environment string   `json:"environment,omitempty"`
	Name        string   `json:"name"`
	Tenant      string   `json:"tenant"`
	Status      string   `json:"status"`
	Message     string   `json:"message,omitempty"` // how it differs from what is expected
	Rules       []string `json:"rules"`             // that refuse it
	Says        []string `json:"says"`              // what they say, in the same order

	problem problem.Problem
}

func outcomeOf(environment string, c trainjob.Case, found cases.Outcome) outcome {
	o := outcome{
		Position: c.Place("name"), Environment: environment, Name: c.Name, Tenant: c.Tenant, Status: passedCase,
		Rules: append([]string{}, found.Rules...), Says: append([]string{}, found.Messages...),
	}
	if unlike, is := c.Unlike(found); is {
		o.Position, o.Status, o.problem = unlike.Position, failedCase, unlike
		o.Message = strings.TrimPrefix(unlike.Message, c.Name+": ")
	}
	return o
}

// outcomeFormats are the print formats of outcomes, by name.
var outcomeFormats = map[string]struct {
	doc   string
	print func(io.Writer, []outcome) error
}{
	"text":  {"a line for each case", printOutcomes},
	"json":  {"a list for programs: of each case its place, status, rules and what they say", func(w io.Writer, all []outcome) error { return printJSON(w, all) }},
	"junit": {"JUnit's XML, which CI systems show as test results", printJUnit},
}

func outcomeNames() []string {
	return slices.SortedFunc(maps.Keys(outcomeFormats), func(a, b string) int { return strings.Compare(b, a) })
}

// outcomeHelp says what each format is for.
func outcomeHelp() string {
	var b strings.Builder
	for _, name := range outcomeNames() {
		fmt.Fprintf(&b, "  %-10s %s\n", name, outcomeFormats[name].doc)
	}
	return strings.TrimSuffix(b.String(), "\n")
}

func printOutcomes(w io.Writer, all []outcome) error {
	for _, o := range all {
		where := o.String()
		if o.Environment != "" {
			where += " in " + o.Environment
		}
		line := fmt.Sprintf("ok      %s: %s", where, o.Name)
		if o.Status == failedCase {
			line = fmt.Sprintf("FAILED  %s: %s: %s", where, o.Name, o.Message)
		}
		if _, err := fmt.Fprintln(w, line); err != nil {
			return err
		}
	}
	return nil
}

// JUnit's XML, as far as CI systems agree on it: file and line are read by some of them.
// Source: github.com/testmoapp/junitxml.
type (
	junitSuites struct {
		XMLName xml.Name     `xml:"testsuites"`
		Suites  []junitSuite `xml:"testsuite"`
	}
	junitSuite struct {
		Name     string      `xml:"name,attr"`
		Tests    int         `xml:"tests,attr"`
		Failures int         `xml:"failures,attr"`
		Cases    []junitCase `xml:"testcase"`
	}
	junitCase struct {
		Name    string        `xml:"name,attr"`
		Class   string        `xml:"classname,attr"`
		File    string        `xml:"file,attr"`
		Line    int           `xml:"line,attr"`
		Failure *junitFailure `xml:"failure"`
	}
	junitFailure struct {
		Message string `xml:"message,attr"`
		Text    string `xml:",chardata"`
	}
)

// printJUnit prints a suite for each file and environment.
func printJUnit(w io.Writer, all []outcome) error {
	var doc junitSuites
	for _, o := range all {
		name := o.File
		if o.Environment != "" {
			name += " in " + o.Environment
		}
		if n := len(doc.Suites); n == 0 || doc.Suites[n-1].Name != name {
			doc.Suites = append(doc.Suites, junitSuite{Name: name})
		}
		suite := &doc.Suites[len(doc.Suites)-1]
		tried := junitCase{Name: o.Name, Class: name, File: o.File, Line: o.Line}
		if o.Status == failedCase {
			tried.Failure = &junitFailure{o.Message, o.String() + ": " + o.Message}
			suite.Failures++
		}
		suite.Tests++
		suite.Cases = append(suite.Cases, tried)
	}
	text, err := xml.MarshalIndent(doc, "", "  ")
	if err != nil {
		return err
	}
	_, err = io.WriteString(w, xml.Header+string(text)+"\n")
	return err
}
