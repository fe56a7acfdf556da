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

// Serve reads a cases.Request from the reader "in", and writes the cases.Response to the writer "out", both as JSON. If
// Serve cannot read the request or evaluate a case, the response contains the error.
func Serve(ctx context.Context, in io.Reader, out io.Writer) error {
	outcomes, err := evaluate(ctx, in)
	response := cases.Response{Outcomes: outcomes}
	if err != nil {
		response = cases.Response{Error: err.Error()}
	}
	if err := json.NewEncoder(out).Encode(response); err != nil {
		return fmt.Errorf("writing the response: %w", err)
	}
	return nil
}

func evaluate(ctx context.Context, in io.Reader) ([]cases.Outcome, error) {
	text, err := io.ReadAll(in)
	if err != nil {
		return nil, fmt.Errorf("reading the request: %w", err)
	}
	var request cases.Request
	if err := utiljson.Unmarshal(text, &request); err != nil {
		return nil, fmt.Errorf("reading the request: %w", err)
	}
	policies, err := Compile(request.Objects)
	if err != nil {
		return nil, err
	}
	outcomes := make([]cases.Outcome, len(request.Cases))
	for i, c := range request.Cases {
		if outcomes[i], err = policies.Run(ctx, c.Completed()); err != nil {
			return nil, err
		}
	}
	return outcomes, nil
}

// Run evaluates the policies on the TrainJob of a case.
func (p *Policies) Run(ctx context.Context, c cases.Case) (cases.Outcome, error) {
	if !p.Bound(c.Tenant) {
		return cases.Outcome{Unbound: true}, nil
	}
	denials, err := p.Evaluate(ctx, Request{User: c.User, Object: c.TrainJob, Before: c.Before, Resource: "trainjobs", NamespaceLabels: c.NamespaceLabels})
	if err != nil {
		return cases.Outcome{}, fmt.Errorf("evaluating case %q: %w", c.Name, err)
	}
	var o cases.Outcome
	for _, denial := range denials {
		o.Rules = append(o.Rules, readRule(denial.Message))
		o.Messages = append(o.Messages, denial.Message)
	}
	return o, nil
}

// readRule reads the message of a denial, and returns the name of the broken rule. For example, the message
// "spec.trainer.numNodes: node-limit: want ..." contains the name node-limit.
func readRule(message string) string {
	if rest, found := strings.CutPrefix(message, "breaks the rule "); found { // the default message, which replaces a message that is too long
		rule, _, _ := strings.Cut(rest, " ")
		return rule
	}
	_, rest, _ := strings.Cut(message, ": ")
	rule, _, _ := strings.Cut(rest, ": ")
	return rule
}
