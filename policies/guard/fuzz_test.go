package guard

import (
	"encoding/json"
	"testing"
)

// FuzzJudge: whatever JSON somebody sends, it is read and judged; and what is denied is denied
// with a place and with words.
func FuzzJudge(f *testing.F) {
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
	p := parameters(f, limits)
	f.Fuzz(func(t *testing.T, text []byte) {
		var fields map[string]any
		if json.Unmarshal(text, &fields) != nil {
			t.Skip("no JSON object: readers refuse it before guard sees it")
		}
		for _, version := range versions {
			reader, err := ReaderFor(version)
			if err != nil {
				t.Fatal(err)
			}
			job, _ := reader.Read(fields)
			for _, d := range Judge(job, p) {
				if d.Rule == "" || d.Path == "" || d.Says == "" {
					t.Errorf("a denial without rule, place or words: %+v", d)
				}
			}
		}
	})
}
