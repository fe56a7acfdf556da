package document

import (
	"bytes"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/trainyard/trainyard/generator/problem"
)

func TestDecodeReadsWhatEncodeWrites(t *testing.T) {
	n := parsed(t, "a.yaml", `{text: a, "": "", list: [1, -2, 0.5, true, null, [], {}], deep: {x: {y: z}}}`)
	n.Get("deep").Get("x").Get("y").Unreadable = true
	problems := problem.List{{Position: problem.Position{File: "a.yaml", Line: 3, Column: 4}, Path: "x", Message: "wrong"}}
	want := scalarPositions(n)
	for _, sent := range []problem.List{nil, problems} {
		var b bytes.Buffer
		if err := Encode(&b, n, sent); err != nil {
			t.Fatal(err)
		}
		got, err := Decode("a.yaml", b.Bytes())
		if diff := cmp.Diff(sent.Err(), err); diff != "" {
			t.Errorf("problems: -sent +received:\n%s", diff)
		}
		if diff := cmp.Diff(want, scalarPositions(got)); diff != "" {
			t.Errorf("-sent +received:\n%s", diff)
		}
		if diff := cmp.Diff(n.Get("list").Items[2].Scalar, got.Get("list").Items[2].Scalar); diff != "" || !got.Get("deep").Get("x").Get("y").Unreadable {
			t.Errorf("scalars: -sent +received:\n%s", diff)
		}
	}
	if _, err := Decode("a.yaml", []byte("{")); err == nil {
		t.Error("Decode() accepts an incomplete message, want an error")
	}
}
