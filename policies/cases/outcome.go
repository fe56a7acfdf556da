package cases

import (
	"fmt"
	"slices"
	"strings"
)

// Question is what an evaluator is asked: what becomes of some cases where these objects are.
type Question struct {
	Objects []map[string]any `json:"objects"`
	Cases   []Case           `json:"cases"`
}

// Answer has an outcome for each case, or says why there are none.
type Answer struct {
	Outcomes []Outcome `json:"outcomes,omitempty"`
	Error    string    `json:"error,omitempty"`
}

// Outcome is what became of a case.
type Outcome struct {
	// Unbound says that no policy is bound to the case's namespace.
	Unbound bool `json:"unbound,omitempty"`
	// Rules are the names of the rules that refuse it, and Messages what they say, in the same order.
	Rules    []string `json:"rules,omitempty"`
	Messages []string `json:"messages,omitempty"`
}

// Unlike says how an outcome differs from what a case expects, and by which of its keys; empty if it does not.
func (o Outcome) Unlike(c Case) (key, how string) {
	switch {
	case o.Unbound:
		return "tenant", fmt.Sprintf("namespace %s has no rules for TrainJobs", c.Tenant)
	case c.Admitted && len(o.Rules) > 0:
		return "admitted", "want it admitted, got: " + strings.Join(o.Messages, "; ")
	case len(o.Rules) == 0 && !c.Admitted:
		return "refused", "want it refused by " + strings.Join(c.Refused, ", ") + ", got it admitted"
	case !slices.Equal(o.Rules, c.Refused):
		return "refused", "want it refused by " + strings.Join(c.Refused, ", ") + ", got: " + strings.Join(o.Messages, "; ")
	case c.Says != "" && !strings.Contains(o.Messages[0], c.Says):
		return "says", fmt.Sprintf("want it to say %q, got: %s", c.Says, o.Messages[0])
	}
	return "", ""
}
