package offline

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strings"

	utiljson "k8s.io/apimachinery/pkg/util/json"

	"github.com/trainyard/trainyard/policies/cases"
)

// Answer reads a question from in and writes the answer to out, both as JSON. What is wrong with the
// question is part of the answer.
func Answer(ctx context.Context, in io.Reader, out io.Writer) error {
	outcomes, err := answer(ctx, in)
	a := cases.Answer{Outcomes: outcomes}
	if err != nil {
		a = cases.Answer{Error: err.Error()}
	}
	if err := json.NewEncoder(out).Encode(a); err != nil {
		return fmt.Errorf("answering: %w", err)
	}
	return nil
}

func answer(ctx context.Context, in io.Reader) ([]cases.Outcome, error) {
	text, err := io.ReadAll(in)
	if err != nil {
		return nil, fmt.Errorf("reading the question: %w", err)
	}
	var question cases.Question
	if err := utiljson.Unmarshal(text, &question); err != nil {
		return nil, fmt.Errorf("reading the question: %w", err)
	}
	policies, err := Compile(question.Objects)
	if err != nil {
		return nil, err
	}
	outcomes := make([]cases.Outcome, len(question.Cases))
	for i, c := range question.Cases {
		if outcomes[i], err = policies.Try(ctx, c.Completed()); err != nil {
			return nil, err
		}
	}
	return outcomes, nil
}

// Try judges the TrainJob of a case.
func (p *Policies) Try(ctx context.Context, c cases.Case) (cases.Outcome, error) {
	if !p.Bound(c.Tenant) {
		return cases.Outcome{Unbound: true}, nil
	}
	denials, err := p.Judge(ctx, Request{User: c.User, Object: c.TrainJob, Before: c.Before, Resource: "trainjobs"})
	if err != nil {
		return cases.Outcome{}, fmt.Errorf("trying %q: %w", c.Name, err)
	}
	var o cases.Outcome
	for _, denial := range denials {
		o.Rules = append(o.Rules, ruleOf(denial.Message))
		o.Messages = append(o.Messages, denial.Message)
	}
	return o, nil
}

// ruleOf is the rule that a message names, as in "spec.trainer.numNodes: nodes: want ...".
func ruleOf(message string) string {
	if rest, is := strings.CutPrefix(message, "breaks the rule "); is { // what it says is too long
		rule, _, _ := strings.Cut(rest, " ")
		return rule
	}
	_, rest, _ := strings.Cut(message, ": ")
	rule, _, _ := strings.Cut(rest, ": ")
	return rule
}
