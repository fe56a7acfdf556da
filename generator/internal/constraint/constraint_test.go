package constraint

import (
	"encoding/json"
	"testing"

	"cuelang.org/go/cue"
	"cuelang.org/go/cue/cuecontext"
)

const schema = `
// a duration such as 90s
#Duration: =~"^[0-9]+s$"
// a quantity
#Quantity: (number & >0) | =~"^[0-9]+Gi$"
// Never used in a message.
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
`

func TestConstraint(t *testing.T) {
	v := cuecontext.New().CompileString(schema)
	if err := v.Err(); err != nil {
		t.Fatal(err)
	}
	cases := map[string]struct{ words, schema string }{
		"range":    {"an integer from 1 to 8", `{"maximum":8,"minimum":1,"type":"integer"}`},
		"atLeast":  {"an integer of at least 2", `{"minimum":2,"type":"integer"}`},
		"above":    {"a number above 0", `{"exclusiveMinimum":0,"type":"number"}`},
		"below":    {"a number below 3", `{"exclusiveMaximum":3,"type":"number"}`},
		"word":     {`one of "a", "b"`, `{"enum":["a","b"],"type":"string"}`},
		"one":      {`"2.3"`, `{"enum":["2.3"],"type":"string"}`},
		"flag":     {"true or false", `{"type":"boolean"}`},
		"text":     {"a string", `{"type":"string"}`},
		"named":    {"a duration such as 90s", `{"pattern":"^[0-9]+s$","type":"string"}`},
		"quantity": {"a quantity", `{"anyOf":[{"exclusiveMinimum":0,"type":"number"},{"pattern":"^[0-9]+Gi$","type":"string"}]}`},
		"mapping":  {"a mapping", `{}`},
		"items":    {"a list", `{}`},
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

func TestSentence(t *testing.T) {
	v := cuecontext.New().CompileString("// How many nodes there\n// are. More text.\na: int\nb: int\n")
	cases := map[string]string{"a": "How many nodes there are", "b": ""}
	for field, want := range cases {
		if got := Sentence(v.LookupPath(cue.ParsePath(field))); got != want {
			t.Errorf("Sentence(%s) = %q, want %q", field, got, want)
		}
	}
}
