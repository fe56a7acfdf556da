package bundles

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
)

// decidedByAuthor is the description text in the schema of a chart. The description tells users why some settings of
// the platform are not values of the chart.
const decidedByAuthor = "This chart has no values for settings that the author of the platform document decides, " +
	"such as namespaces, isolation, the runtimes of a tenant, and quotas of GPUs and pods."

// valuesSchema returns values.schema.json in draft 7 of JSON Schema, which all versions of Helm 3 can read.
func (c *helmChart) valuesSchema() ([]byte, error) {
	properties := c.values.properties()
	for _, s := range c.standardValues() {
		described := maps.Clone(s.schema)
		described["description"] = s.doc
		properties[s.key] = described
	}
	root := closedSchema(properties)
	// The value "enabled" is optional. A parent chart can set the value "enabled", and refer to it in the field
	// dependencies.condition of its Chart.yaml.
	properties["enabled"] = map[string]any{"type": "boolean", "description": "Whether a parent chart installs this chart. Only parent charts read this value."}
	root["description"] = decidedByAuthor
	root["$schema"], root["title"] = "http://json-schema.org/draft-07/schema#", "Values of "+c.uniqueName()
	text, err := json.MarshalIndent(root, "", "  ")
	if err != nil {
		return nil, fmt.Errorf("writing values.schema.json: %w", err)
	}
	return append(text, '\n'), nil
}

func (v helmValues) properties() map[string]any {
	properties := map[string]any{}
	for key, value := range v {
		if value.children != nil {
			properties[key] = closedSchema(value.children.properties())
			continue
		}
		properties[key] = value.fieldSchema()
	}
	return properties
}

// fieldSchema returns the JSON Schema of a value. fieldSchema copies the schema of the field in the document, and
// sets the description, the default and the bounds.
func (v *helmValue) fieldSchema() any {
	var keywords map[string]json.RawMessage // with RawMessage, no character of a pattern is escaped
	if json.Unmarshal(v.parameter.Schema, &keywords) != nil {
		return v.parameter.Schema
	}
	schema := map[string]any{}
	for keyword, value := range keywords {
		schema[keyword] = value
	}
	schema["description"], schema["default"] = v.parameter.Doc, v.value
	if v.minimum != nil {
		schema["minimum"] = v.minimum
	}
	if v.maximum != nil {
		schema["maximum"] = v.maximum
	}
	return schema
}

// closedSchema returns a schema that requires all given properties and admits no other property. If a user sets a value
// to null, Helm removes the value, and the schema reports that the value is missing.
func closedSchema(properties map[string]any) map[string]any {
	return map[string]any{
		"type": "object", "properties": properties, "additionalProperties": false,
		"required": append([]string{}, slices.Sorted(maps.Keys(properties))...), // an empty list, never null
	}
}

func (c *helmChart) componentsSchema() map[string]any {
	properties := map[string]any{}
	for name := range c.components {
		properties[name] = map[string]any{"type": "boolean"}
	}
	return closedSchema(properties)
}

// addedSchema returns the schema of labels or annotations that users add to all objects. The schema refuses keys
// that Helm sets, and keys that an object of the chart already has. If users could add a key that an object already
// has, the template would write this key twice into one mapping, and YAML forbids duplicate keys.
func (c *helmChart) addedSchema(field string) map[string]any {
	value := map[string]any{"type": "string"}
	if field == "labels" {
		value["pattern"], value["maxLength"] = `^([A-Za-z0-9]([A-Za-z0-9._-]*[A-Za-z0-9])?)?$`, 63
	}
	return map[string]any{
		"type": "object", "additionalProperties": value,
		"propertyNames": map[string]any{
			"pattern": `^([a-z0-9]([a-z0-9.-]{0,251}[a-z0-9])?/)?[A-Za-z0-9]([A-Za-z0-9._-]{0,61}[A-Za-z0-9])?$`,
			"not":     map[string]any{"enum": slices.Concat(slices.Sorted(maps.Keys(c.ownKeys[field])), reservedKeys)},
		},
	}
}

// reservedKeys are the keys of labels and annotations that Helm itself sets.
var reservedKeys = []string{"helm.sh/resource-policy", "meta.helm.sh/release-name", "meta.helm.sh/release-namespace"}
