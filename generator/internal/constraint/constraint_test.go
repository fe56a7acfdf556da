package constraint

import (
	"encoding/json"
	"testing"

	"cuelang.org/go/cue"
	"cuelang.org/go/cue/cuecontext"
)

const schema = `
import "strings"

// a duration such as 90s
#Duration: =~"^[0-9]+s$"
// a quantity
#Quantity: (number & >0) | =~"^[0-9]+Gi$"
// an amount, or 0
#OrZero: 0 | =~"^[0-9]+Gi$"
// Messages must not contain the comment of a struct.
#Struct: {a?: int}

range:     int & >=1 & <=8
atLeast:   int & >=2
above:     number & >0
below:     number & <3
word:      "a" | "b"
one:       "2.3"
flag:      bool
text:      string
named:     #Duration
quantity:  #Quantity
mapping:   #Struct
items:     [...#Duration]
bounded:   =~"^a" & =~"b$" & strings.MaxRunes(9)
orZero:    #OrZero
any:       string | bool
other:     strings.MinRunes(9)
`

func TestConstraint(t *testing.T) {
	v := cuecontext.New().CompileString(schema)
	if err := v.Err(); err != nil {
		t.Fatal(err)
	}
	cases := map[string]struct{ words, schema string }{
		"range":    {"an integer from 1 to 8", `{"type":"integer","minimum":1,"maximum":8}`},
		"atLeast":  {"an integer of at least 2", `{"type":"integer","minimum":2}`},
		"above":    {"a number above 0", `{"type":"number","exclusiveMinimum":0}`},
		"below":    {"a number below 3", `{"type":"number","exclusiveMaximum":3}`},
		"word":     {`one of "a", "b"`, `{"type":"string","enum":["a","b"]}`},
		"one":      {`"2.3"`, `{"type":"string","enum":["2.3"]}`},
		"flag":     {"true or false", `{"type":"boolean"}`},
		"text":     {"a string", `{"type":"string"}`},
		"named":    {"a duration such as 90s", `{"type":"string","pattern":"^[0-9]+s$"}`},
		"quantity": {"a quantity", `{"anyOf":[{"type":"number","exclusiveMinimum":0},{"type":"string","pattern":"^[0-9]+Gi$"}]}`},
		"mapping":  {"a mapping", `{"type":"object"}`},
		"items":    {"a list", `{"type":"array"}`},
		"bounded":  {"a string", `{"type":"string","pattern":"^a","maxLength":9,"allOf":[{"pattern":"b$"}]}`},
		"orZero":   {"an amount, or 0", `{"anyOf":[{"enum":[0]},{"type":"string","pattern":"^[0-9]+Gi$"}]}`},
		"any":      {"true or false or a string", `{"anyOf":[{"type":"string"},{"type":"boolean"}]}`},
	}
	for field, tc := range cases {
		t.Run(field, func(t *testing.T) {
			c := Of(v.LookupPath(cue.ParsePath(field)))
			if got := c.String(); got != tc.words {
				t.Errorf("String() = %q, want %q", got, tc.words)
			}
			got, err := json.Marshal(c.JSONSchema())
			if err != nil || string(got) != tc.schema {
				t.Errorf("JSONSchema() = %s, %v, want %s", got, err, tc.schema)
			}
		})
	}
}

// TestUnsupportedExpressions checks the result of the function Of for expressions that this package cannot read, such
// as strings.MinRunes(9). The field Unsupported of the result must list such an expression. If the field Unsupported is
// not empty, the export of the JSON Schema fails. If the export ignored the expression, the exported JSON Schema would
// admit values that CUE refuses.
func TestUnsupportedExpressions(t *testing.T) {
	v := cuecontext.New().CompileString(schema)
	if got := Of(v.LookupPath(cue.ParsePath("other"))).Unsupported; len(got) != 1 {
		t.Errorf("got %q, want strings.MinRunes(9)", got)
	}
	if got := Of(v.LookupPath(cue.ParsePath("bounded"))).Unsupported; len(got) > 0 {
		t.Errorf("got %q, want nothing", got)
	}
}

func TestSentence(t *testing.T) {
	v := cuecontext.New().CompileString("// How many nodes there\n// are. More text.\na: int\nb: int\n")
	cases := map[string]string{"a": "How many nodes there are", "b": ""}
	for field, want := range cases {
		if got := Sentence(v.LookupPath(cue.ParsePath(field))); got != want {
			t.Errorf("Sentence(%s) = %q, want %q", field, got, want)
		}
	}
}
