package foreign

import (
	"fmt"
	"slices"
	"strconv"

	"github.com/trainyard/trainyard/generator/internal/document"
	"github.com/trainyard/trainyard/generator/problem"
)

// value is a place in a document: what is written there or, if nothing is,
// where it would belong. A rule can walk on from any value.
type value struct {
	node *document.Node   // nil if nothing is written, or null, which the cluster reads as nothing
	at   problem.Position // of a scalar or an item itself, else of its key; of the nearest key that is written
	path []string
}

func root(n *document.Node) value { return value{node: n, at: n.Position} }

// given tells whether anything is written.
func (v value) given() bool { return v.node != nil }

// get walks down a path of keys.
func (v value) get(keys ...string) value {
	for _, key := range keys {
		v = v.field(key)
	}
	return v
}

func (v value) field(key string) value {
	below := value{at: v.at, path: v.below(key)}
	if v.node == nil {
		return below
	}
	for _, f := range v.node.Fields {
		if f.Key == key {
			return below.holding(f.Value, f.Position)
		}
	}
	return below
}

// holding puts a node into a value, whose key or item stands at a position.
func (v value) holding(n *document.Node, at problem.Position) value {
	v.at = at
	if n.Kind == document.Scalar {
		if n.Scalar == nil {
			return v
		}
		v.at = n.Position
	}
	v.node = n
	return v
}

// fields ranges over the values of a mapping.
func (v value) fields() []value {
	var all []value
	if v.node != nil {
		for _, f := range v.node.Fields {
			all = append(all, value{path: v.below(f.Key)}.holding(f.Value, f.Position))
		}
	}
	return all
}

// items lists what a list holds. An item is called by its name in the path, if it has one.
func (v value) items() []value {
	var all []value
	if v.node != nil {
		for i, n := range v.node.Items {
			item := value{path: v.below(strconv.Itoa(i))}.holding(n, n.Position)
			if name, ok := item.field("name").text(); ok && name != "" {
				item.path = v.below(name)
			}
			all = append(all, item)
		}
	}
	return all
}

// named returns the first item of a list that has a name; if there is none, its place is the list's.
func (v value) named(name string) value {
	for _, item := range v.items() {
		if text, _ := item.field("name").text(); text == name {
			return item
		}
	}
	return value{at: v.at, path: v.below(name)}
}

func (v value) below(key string) []string { return append(slices.Clip(v.path), key) }

// key is the last step of the path.
func (v value) key() string {
	if len(v.path) == 0 {
		return ""
	}
	return v.path[len(v.path)-1]
}

// text returns a string.
func (v value) text() (text string, ok bool) {
	if v.node == nil {
		return "", false
	}
	text, ok = v.node.Scalar.(string)
	return text, ok
}

// number returns a whole number; 2.0 is one.
func (v value) number() (number int64, ok bool) {
	if v.node == nil {
		return 0, false
	}
	switch scalar := v.node.Scalar.(type) {
	case int64:
		return scalar, true
	case float64:
		return int64(scalar), scalar == float64(int64(scalar))
	}
	return 0, false
}

// no tells whether a value is false, in any word that kubectl reads as false.
func (v value) no() bool {
	if v.node == nil {
		return false
	}
	if text, ok := v.node.Scalar.(string); ok {
		truth, known := switches[text]
		return known && !truth
	}
	return v.node.Scalar == false
}

// switches are words that YAML 1.1, and so kubectl, reads as true or false where
// they stand without quotes. Which of them did cannot be told from a node.
var switches = map[string]bool{
	"y": true, "Y": true, "yes": true, "Yes": true, "YES": true, "on": true, "On": true, "ON": true,
	"n": false, "N": false, "no": false, "No": false, "NO": false, "off": false, "Off": false, "OFF": false,
}

// finding is what a rule has to say about a value.
type finding struct {
	value
	note bool   // works, with a surprise
	says string // what happens and why, and what to write instead
}

// breaks is a finding about what breaks jobs, or is refused.
func (v value) breaks(format string, args ...any) []finding {
	return []finding{{value: v, says: fmt.Sprintf(format, args...)}}
}

// surprises is a finding about what works, but not as it looks.
func (v value) surprises(format string, args ...any) []finding {
	return []finding{{value: v, note: true, says: fmt.Sprintf(format, args...)}}
}
