package guard

import (
	"maps"
	"regexp"
	"slices"
	"sync"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/trainyard/trainyard/api/message"
)

// value is a value of decoded JSON with its path in the TrainJob. The content is nil if the TrainJob does not contain the
// value.
type value struct {
	content any
	path    *field.Path
}

// get returns the value at a path of keys. If a field is missing, or its parent is not a mapping, the content of the
// result is nil.
func (v value) get(keys ...string) value {
	for _, key := range keys {
		v = value{v.mappingEntries()[key], v.childPath(key)}
	}
	return v
}

// childPath returns the path of a field. childPath puts an unusual field name in brackets, because a field name
// in a TrainJob can contain any characters.
func (v value) childPath(key string) *field.Path {
	switch {
	case !message.Plain(key):
		return v.path.Key(printableName(key))
	case v.path == nil:
		return field.NewPath(key)
	}
	return v.path.Child(key)
}

// plainName matches names of Kubernetes objects and of images.
var plainName = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z0-9._/:@-]{1,200}$`) })

// printableName returns a name for a message. If the name does not match plainName, printableName quotes the name,
// because the name can contain line breaks or terminal control sequences.
func printableName(text string) string {
	if plainName().MatchString(text) {
		return text
	}
	return message.Quote(text)
}

// isSet reports whether the value exists and is not null. The API server treats a field with the value null as missing.
func (v value) isSet() bool { return v.content != nil }

// stringValue returns the text of a value, or "" if the value is not a string.
func (v value) stringValue() string {
	text, _ := v.content.(string)
	return text
}

// listItems returns the items of a value, or no items if the value is not a list.
func (v value) listItems() []value {
	list, _ := v.content.([]any)
	items := make([]value, len(list))
	for i, item := range list {
		items[i] = value{item, v.path.Index(i)}
	}
	return items
}

// mappingEntries returns the entries of a value, or no entries if the value is not a mapping.
func (v value) mappingEntries() map[string]any {
	entries, _ := v.content.(map[string]any)
	return entries
}

// sortedKeys returns the keys of a value in alphabetical order, or no keys if the value is not a mapping.
func (v value) sortedKeys() []string { return slices.Sorted(maps.Keys(v.mappingEntries())) }

// lookUpEach looks up the same path of keys in each of several values, and returns the values that it finds.
func lookUpEach(in []value, keys ...string) []value {
	var found []value
	for _, v := range in {
		if below := v.get(keys...); below.isSet() {
			found = append(found, below)
		}
	}
	return found
}

func itemsOf(lists []value) []value {
	var found []value
	for _, list := range lists {
		found = append(found, list.listItems()...)
	}
	return found
}

// namedStrings returns each value that is a non-empty string, together with its path.
func namedStrings(values []value) []Named {
	var found []Named
	for _, v := range values {
		if name := v.stringValue(); name != "" {
			found = append(found, Named{name, v.path})
		}
	}
	return found
}

// listKeys returns all keys in several mappings, each key together with its path.
func listKeys(mappings []value) []Named {
	var found []Named
	for _, v := range mappings {
		for _, key := range v.sortedKeys() {
			found = append(found, Named{key, v.path.Key(printableName(key))})
		}
	}
	return found
}
