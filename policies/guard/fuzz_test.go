package guard

import (
	"encoding/json"
	"testing"
)

func FuzzCheck(f *testing.F) {
	for _, tc := range cases {
		for _, s := range append(tc.accepts, tc.refuses...) {
			for _, version := range versions {
				text, err := json.Marshal(s.job(f, version))
				if err != nil {
					f.Fatal(err)
				}
				f.Add(text)
			}
		}
	}
	p := parameters(f, defaultLimits)
	f.Fuzz(func(t *testing.T, text []byte) {
		var fields map[string]any
		if json.Unmarshal(text, &fields) != nil {
			t.Skip("not a JSON object, which callers refuse before they call guard")
		}
		for _, version := range versions {
			reader, err := ReaderFor(version)
			if err != nil {
				t.Fatal(err)
			}
			job, _ := reader.Read(fields)
			for _, d := range Check(job, p) {
				if d.Rule == "" || d.Path == "" || d.Message == "" {
					t.Errorf("want a rule, a path and a message in each denial, got %+v", d)
				}
			}
		}
	})
}
