package guard

import (
	"maps"
	"regexp"
	"slices"
	"sync"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/trainyard/trainyard/generator/problem"
)

// tree is a place in a TrainJob as decoded JSON. Whoever walks on from what is not there, or is
// of another kind, gets to nothing.
type tree struct {
	value any
	path  *field.Path
}

// get walks down a path of keys.
func (t tree) get(keys ...string) tree {
	for _, key := range keys {
		fields, _ := t.value.(map[string]any)
		t = tree{fields[key], t.child(key)}
	}
	return t
}

// child is the path of a field. A field that is none of Trainer's may be called anything.
func (t tree) child(key string) *field.Path {
	switch {
	case !problem.Plain(key):
		return t.path.Key(shown(key))
	case t.path == nil:
		return field.NewPath(key)
	}
	return t.path.Child(key)
}

// name is what names of Kubernetes, and of images, consist of.
var name = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z0-9._/:@-]{1,200}$`) })

// shown is a name that somebody else wrote, as it can stand in a message: on one line, with
// nothing that steers a terminal.
func shown(text string) string {
	if name().MatchString(text) {
		return text
	}
	return problem.Quote(text)
}

// given tells whether anything is there; the API server takes null for nothing.
func (t tree) given() bool { return t.value != nil }

// text is a string, or "".
func (t tree) text() string {
	text, _ := t.value.(string)
	return text
}

// items lists what a list holds.
func (t tree) items() []tree {
	values, _ := t.value.([]any)
	items := make([]tree, len(values))
	for i, value := range values {
		items[i] = tree{value, t.path.Index(i)}
	}
	return items
}

// keys lists the keys of a mapping in the order of the alphabet.
func (t tree) keys() []string {
	fields, _ := t.value.(map[string]any)
	return slices.Sorted(maps.Keys(fields))
}

// each collects what lies at a path of keys below each of several places.
func each(of []tree, keys ...string) []tree {
	var found []tree
	for _, t := range of {
		if below := t.get(keys...); below.given() {
			found = append(found, below)
		}
	}
	return found
}

// itemsOf collects the items of several lists.
func itemsOf(lists []tree) []tree {
	var found []tree
	for _, list := range lists {
		found = append(found, list.items()...)
	}
	return found
}

// namedBy is a place by the name that is written there; none if there is no name.
func namedBy(places []tree) []Named {
	var found []Named
	for _, t := range places {
		if name := t.text(); name != "" {
			found = append(found, Named{name, t.path})
		}
	}
	return found
}

// keysOf collects the keys of several mappings.
func keysOf(mappings []tree) []Named {
	var found []Named
	for _, t := range mappings {
		for _, key := range t.keys() {
			found = append(found, Named{key, t.path.Key(shown(key))})
		}
	}
	return found
}
