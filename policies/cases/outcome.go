package cases

import (
	"fmt"
	"slices"
	"strings"
)

// Request is the input of the program trainyard-policy. trainyard-policy applies the admission policies in the field
// Objects to the TrainJobs in the field Cases. Objects contains all objects of a platform.
type Request struct {
	Objects []map[string]any `json:"objects"`
	Cases   []Case           `json:"cases"`
}

// Response is the output of trainyard-policy: one outcome for each case, or an error.
type Response struct {
	Outcomes []Outcome `json:"outcomes,omitempty"`
	Error    string    `json:"error,omitempty"`
}

// Outcome is the result of a case.
type Outcome struct {
	// Unbound reports that no policy is bound to the case's namespace.
	Unbound bool `json:"unbound,omitempty"`
	// Rules lists the names of the rules that refuse the TrainJob. Messages contains one message for each of these
	// rules, in the same order as Rules.
	Rules    []string `json:"rules,omitempty"`
	Messages []string `json:"messages,omitempty"`
}

// Mismatch compares an outcome with the expected result of a case. If the outcome differs from the expected result,
// Mismatch returns two texts. The difference concerns one field of the case, such as the field "admitted". The first
// text is the key of this field. The second text describes the difference. If the outcome is as expected, Mismatch
// returns two empty strings.
func (o Outcome) Mismatch(c Case) (key, how string) {
	switch {
	case o.Unbound:
		return "tenant", fmt.Sprintf("namespace %s has no rules for TrainJobs, because it is not a tenant of the platform, or admission.enforce is none", c.Tenant)
	case c.Admitted && len(o.Rules) > 0:
		return "admitted", "want the TrainJob admitted, got: " + strings.Join(o.Messages, "; ")
	case len(o.Rules) == 0 && !c.Admitted:
		return "refused", "want the TrainJob refused by " + strings.Join(c.Refused, ", ") + ", got it admitted"
	case !slices.Equal(o.Rules, c.Refused):
		return "refused", "want the TrainJob refused by " + strings.Join(c.Refused, ", ") + ", got: " + strings.Join(o.Messages, "; ")
	case c.Says != "" && !strings.Contains(o.Messages[0], c.Says):
		return "says", fmt.Sprintf("want %q in the message, got: %s", c.Says, o.Messages[0])
	}
	return "", ""
}
