package main

import (
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/trainyard/trainyard/cmd/internal/report"
	"github.com/trainyard/trainyard/generator/problem"
	"github.com/trainyard/trainyard/generator/vet/trainjob"
	"github.com/trainyard/trainyard/policies/cases"
)

const (
	passedCase = "passed"
	failedCase = "failed"
)

// caseResult is the result of one case of a policy test in one environment. If the case passed, Position is the
// position of the case. If the case failed, Position is the position of the expected result.
type caseResult struct {
	problem.Position
	Environment string   `json:"environment,omitempty"`
	Name        string   `json:"name"`
	Tenant      string   `json:"tenant"`
	Status      string   `json:"status"`
	Message     string   `json:"message,omitempty"` // how the result differs from the expected result
	Rules       []string `json:"rules"`             // the rules that refuse the TrainJob
	Messages    []string `json:"says"`              // the message of each rule, in the order of the field Rules

	problem problem.Problem
}

func newCaseResult(environment string, c trainjob.Case, outcome cases.Outcome) caseResult {
	r := caseResult{
		Position: c.Position("name"), Environment: environment, Name: c.Name, Tenant: c.Tenant, Status: passedCase,
		Rules: append([]string{}, outcome.Rules...), Messages: append([]string{}, outcome.Messages...),
	}
	if difference, differs := c.Mismatch(outcome); differs {
		r.Position, r.Status, r.problem = difference.Position, failedCase, difference
		r.Message = strings.TrimPrefix(difference.Message, c.Name+": ")
	}
	return r
}

// failedCases returns an error with the number of failed cases. If no case failed, failedCases returns nil. If the
// argument "printed" is true, the failed cases are already printed, and the error does not list them.
func failedCases(all []caseResult, printed bool) error {
	var failed problem.List
	for _, r := range all {
		if r.Status == failedCase {
			p := r.problem
			if r.Environment != "" {
				p.Message += " (found in environment " + r.Environment + ")"
			}
			failed = append(failed, p)
		}
	}
	if len(failed) == 0 {
		return nil
	}
	summary := fmt.Sprintf("trainyard: %d of %s failed", len(failed), count(len(all), "case"))
	result := report.Report{ExitCode: exitFailed, Failures: []string{summary}}
	if _ = failed.Err(); !printed { // Err sorts the list
		result.Problems = failed
	}
	return &exitError{error: errors.New(summary), result: result}
}

var resultFormats = choices{
	{"text", "a line for each case"},
	{"junit", "JUnit XML, which CI systems show as test results"},
	{"json", "for programs: a list of cases with position, status, rules and messages"},
}

func printResults(w io.Writer, format string, all []caseResult) error {
	if format == "junit" {
		return printJUnit(w, all)
	}
	return printList(w, format, all, func(r caseResult) string {
		if r.Status == failedCase {
			return fmt.Sprintf("FAILED  %s: %s: %s", inEnvironmentOf(r, r.String()), r.Name, r.Message)
		}
		return fmt.Sprintf("ok      %s: %s", inEnvironmentOf(r, r.String()), r.Name)
	})
}

func inEnvironmentOf(r caseResult, where string) string {
	if r.Environment == "" {
		return where
	}
	return where + " in " + r.Environment
}

// The following types contain the elements and attributes of JUnit XML that all CI systems support. The type junitCase
// also contains the attributes "file" and "line", which only some CI systems support.
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

// printJUnit prints the results as JUnit XML. Each combination of a file and an environment has its own test suite.
func printJUnit(w io.Writer, all []caseResult) error {
	var doc junitSuites
	for _, r := range all {
		name := inEnvironmentOf(r, r.File)
		if n := len(doc.Suites); n == 0 || doc.Suites[n-1].Name != name {
			doc.Suites = append(doc.Suites, junitSuite{Name: name})
		}
		suite := &doc.Suites[len(doc.Suites)-1]
		c := junitCase{Name: r.Name, Class: name, File: r.File, Line: r.Line}
		if r.Status == failedCase {
			c.Failure = &junitFailure{r.Message, r.String() + ": " + r.Message}
			suite.Failures++
		}
		suite.Tests++
		suite.Cases = append(suite.Cases, c)
	}
	text, err := xml.MarshalIndent(doc, "", "  ")
	if err != nil {
		return err
	}
	_, err = io.WriteString(w, xml.Header+string(text)+"\n")
	return err
}
