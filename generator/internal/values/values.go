// Package values reads values from decoded JSON, which consists of mappings, lists and scalars.
package values

import "strconv"

// Mapping returns the mapping at a path of keys, or nil if there is no mapping at this path.
func Mapping(from map[string]any, keys ...string) map[string]any {
	for _, key := range keys {
		from, _ = from[key].(map[string]any)
	}
	return from
}

// Mappings reads the list at a key of a mapping, and returns only the items that are mappings.
func Mappings(from map[string]any, key string) []map[string]any {
	list, _ := from[key].([]any)
	var items []map[string]any
	for _, item := range list {
		if mapping, ok := item.(map[string]any); ok {
			items = append(items, mapping)
		}
	}
	return items
}

// Texts returns a copy of the mapping at a path of keys. A value that is not a string becomes "" in the copy.
func Texts(from map[string]any, keys ...string) map[string]string {
	texts := map[string]string{}
	for key, value := range Mapping(from, keys...) {
		texts[key], _ = value.(string)
	}
	return texts
}

// Pick copies the given keys and their values from a mapping to a new mapping, and returns the new mapping.
func Pick(from map[string]any, keys []string) map[string]any {
	picked := map[string]any{}
	for _, key := range keys {
		if value, ok := from[key]; ok {
			picked[key] = value
		}
	}
	return picked
}

// Lookup returns the value at a path of keys and list indexes.
func Lookup(from any, path []string) (any, bool) {
	for _, key := range path {
		var ok bool
		if from, ok = Child(from, key); !ok {
			return nil, false
		}
	}
	return from, true
}

// Child returns a field of a mapping, or an item of a list by its index.
func Child(node any, key string) (any, bool) {
	switch node := node.(type) {
	case map[string]any:
		value, ok := node[key]
		return value, ok
	case []any:
		i, err := strconv.Atoi(key)
		if err != nil || i < 0 || i >= len(node) {
			return nil, false
		}
		return node[i], true
	}
	return nil, false
}

// Extend returns a copy of a path with one more key, and does not change the array of the original path.
func Extend[K any](path []K, key K) []K {
	return append(path[:len(path):len(path)], key)
}
