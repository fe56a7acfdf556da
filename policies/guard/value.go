package guard

import (
	"maps"
	"regexp"
	"slices"
	"sync"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/trainyard/trainyard/api/message"
)

// value is a value of decoded JSON with its path in the TrainJob. A lookup returns a value without content if the
// field or item is missing, or if the value has another type.
type value struct {
	content any
	path    *field.Path
}

// get returns the value at a path of keys.
func (v value) get(keys ...string) value {
	for _, key := range keys {
		v = value{v.entries()[key], v.child(key)}
	}
	return v
}

// child returns the path of a field. Users can misspell field names in any way, so an unusual name is quoted.
func (v value) child(key string) *field.Path {
	switch {
	case !message.Plain(key):
		return v.path.Key(printable(key))
	case v.path == nil:
		return field.NewPath(key)
	}
	return v.path.Child(key)
}

// plainName matches names of Kubernetes objects and of images.
var plainName = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z0-9._/:@-]{1,200}$`) })

// printable returns a name for a message. Names that are not plain are quoted, because they can contain line breaks
// or terminal control sequences.
func printable(text string) string {
	if plainName().MatchString(text) {
		return text
	}
	return message.Quote(text)
}

// exists reports whether the value is set. The API server treats null as unset.
func (v value) exists() bool { return v.content != nil }

// text returns a string value, or "" for other types.
func (v value) text() string {
	text, _ := v.content.(string)
	return text
}

// items returns the items of a list.
func (v value) items() []value {
	list, _ := v.content.([]any)
	items := make([]value, len(list))
	for i, item := range list {
		items[i] = value{item, v.path.Index(i)}
	}
	return items
}

// entries returns a mapping, or an empty mapping for other types.
func (v value) entries() map[string]any {
	entries, _ := v.content.(map[string]any)
	return entries
}

// keys returns the keys of a mapping in alphabetical order.
func (v value) keys() []string { return slices.Sorted(maps.Keys(v.entries())) }

// each looks up a path of keys in several values, and returns the values that exist.
func each(in []value, keys ...string) []value {
	var found []value
	for _, v := range in {
		if below := v.get(keys...); below.exists() {
			found = append(found, below)
		}
	}
	return found
}

func itemsOf(lists []value) []value {
	var found []value
	for _, list := range lists {
		found = append(found, list.items()...)
	}
	return found
}

// namesIn returns the strings among some values, with their paths. Empty strings are left out.
func namesIn(values []value) []Named {
	var found []Named
	for _, v := range values {
		if name := v.text(); name != "" {
			found = append(found, Named{name, v.path})
		}
	}
	return found
}

// keysOf returns the keys of several mappings, with their paths.
func keysOf(mappings []value) []Named {
	var found []Named
	for _, v := range mappings {
		for _, key := range v.keys() {
			found = append(found, Named{key, v.path.Key(printable(key))})
		}
	}
	return found
}
