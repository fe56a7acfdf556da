package bundles

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
)

// schema is values.schema.json. It is of draft 7, which all versions of Helm 3 read, and refers to
// nothing outside itself.
func (c *helmChart) schema() ([]byte, error) {
	properties := c.values.properties()
	for _, h := range c.hatches() {
		described := map[string]any{"description": h.doc}
		maps.Copy(described, h.schema)
		properties[h.key] = described
	}
	root := closed(properties)
	// What a chart that has this one as a part says of it (Chart.yaml, dependencies.condition): nobody has to.
	properties["enabled"] = map[string]any{"type": "boolean", "description": "Read by charts that have this one as a part."}
	root["$schema"], root["title"] = "http://json-schema.org/draft-07/schema#", "Values of "+c.name
	text, err := json.MarshalIndent(root, "", "  ")
	if err != nil {
		return nil, fmt.Errorf("writing values.schema.json: %w", err)
	}
	return append(text, '\n'), nil
}

// properties are the schemas of values, by key.
func (v helmValues) properties() map[string]any {
	properties := map[string]any{}
	for key, at := range v {
		if at.below != nil {
			properties[key] = closed(at.below.properties())
			continue
		}
		properties[key] = at.schema()
	}
	return properties
}

// schema is that of the field of the document, with what it means.
func (v *helmValue) schema() any {
	var keywords map[string]json.RawMessage // as they are written: a pattern may name what nobody can see
	if json.Unmarshal(v.parameter.Schema, &keywords) != nil {
		return v.parameter.Schema
	}
	about := map[string]any{}
	for keyword, says := range keywords {
		about[keyword] = says
	}
	about["description"], about["default"] = v.parameter.Doc, v.value
	if v.least != nil {
		about["minimum"] = v.least
	}
	if v.most != nil {
		about["maximum"] = v.most
	}
	return about
}

// closed is a schema that admits exactly these keys: none is missing, as null would have it be.
func closed(properties map[string]any) map[string]any {
	return map[string]any{
		"type": "object", "properties": properties, "additionalProperties": false,
		"required": append([]string{}, slices.Sorted(maps.Keys(properties))...), // never null
	}
}

func (c *helmChart) componentsSchema() map[string]any {
	properties := map[string]any{}
	for _, name := range c.components() {
		properties[name] = map[string]any{"type": "boolean"}
	}
	return closed(properties)
}

// addedSchema admits labels or annotations that no object has itself: a key that is there twice is an error.
func (c *helmChart) addedSchema(what string) map[string]any {
	value := map[string]any{"type": "string"}
	if what == "labels" {
		value["pattern"], value["maxLength"] = `^([A-Za-z0-9]([A-Za-z0-9._-]*[A-Za-z0-9])?)?$`, 63
	}
	return map[string]any{
		"type": "object", "additionalProperties": value,
		"propertyNames": map[string]any{
			"pattern": `^([a-z0-9]([a-z0-9.-]{0,251}[a-z0-9])?/)?[A-Za-z0-9]([A-Za-z0-9._-]{0,61}[A-Za-z0-9])?$`,
			"not":     map[string]any{"enum": slices.Concat(slices.Sorted(maps.Keys(c.taken[what])), reserved)},
		},
	}
}

// reserved are the labels and annotations that Helm itself sets.
var reserved = []string{"helm.sh/resource-policy", "meta.helm.sh/release-name", "meta.helm.sh/release-namespace"}
