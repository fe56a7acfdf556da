package problem

import (
	"encoding/json"
	"testing"
)

func TestDecodeError(t *testing.T) {
	for text, want := range map[string][2]string{
		`{"a": [1]}`:               {"a", "want text, got a list"},
		`{"b": {"c": "x"}}`:        {"b.c", "want true or false, got text"},
		`{"b": 3}`:                 {"b", "want a mapping, got a number"},
		`{"d": {"e": true}}`:       {"d", "want a list, got a mapping"},
		`{"d": [{"f": 1.5}]}`:      {"d.f", "want a whole number, got a number"},
		`{"d": [{"f": {}}, "g"]}`:  {"d.f", "want a whole number, got a mapping"},
		`{"h": {"i": true, "j": ]`: {"", "invalid character ']' looking for beginning of value"},
	} {
		var into struct {
			A string `json:"a"`
			B struct {
				C bool `json:"c"`
			} `json:"b"`
			D []struct {
				F int32 `json:"f"`
			} `json:"d"`
		}
		path, message := DecodeError(json.Unmarshal([]byte(text), &into))
		if got := [2]string{path, message}; got != want {
			t.Errorf("%s: %q, want %q", text, got, want)
		}
	}
}
