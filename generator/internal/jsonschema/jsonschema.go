// Package jsonschema builds JSON Schemas (draft 2020-12) with the keywords that trainyard needs, in a readable order.
package jsonschema

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"unicode/utf16"
	"unicode/utf8"
)

// Dialect is the value of $schema.
const Dialect = "https://json-schema.org/draft/2020-12/schema"

// Schema is a JSON Schema. The zero value of Schema allows every JSON value.
type Schema struct {
	Dialect          string      `json:"$schema,omitempty"`
	ID               string      `json:"$id,omitempty"`
	Title            string      `json:"title,omitempty"`
	Description      string      `json:"description,omitempty"`
	Comment          string      `json:"$comment,omitempty"`
	Ref              string      `json:"$ref,omitempty"`
	Type             string      `json:"type,omitempty"`
	Enum             []any       `json:"enum,omitempty"`
	Pattern          Pattern     `json:"pattern,omitempty"`
	MaxLength        json.Number `json:"maxLength,omitempty"`
	Minimum          json.Number `json:"minimum,omitempty"`
	ExclusiveMinimum json.Number `json:"exclusiveMinimum,omitempty"`
	Maximum          json.Number `json:"maximum,omitempty"`
	ExclusiveMaximum json.Number `json:"exclusiveMaximum,omitempty"`
	MinItems         int         `json:"minItems,omitempty"`
	MaxItems         int         `json:"maxItems,omitempty"`
	UniqueItems      bool        `json:"uniqueItems,omitempty"`
	Items            *Schema     `json:"items,omitempty"`
	MinProperties    int         `json:"minProperties,omitempty"`
	MaxProperties    int         `json:"maxProperties,omitempty"`
	Required         []string    `json:"required,omitempty"`

	DependentRequired map[string][]string `json:"dependentRequired,omitempty"`

	Properties           *Properties `json:"properties,omitempty"`
	PropertyNames        *Schema     `json:"propertyNames,omitempty"`
	AdditionalProperties *Schema     `json:"additionalProperties,omitempty"`
	AllOf                []*Schema   `json:"allOf,omitempty"`
	AnyOf                []*Schema   `json:"anyOf,omitempty"`
	Not                  *Schema     `json:"not,omitempty"`
	If                   *Schema     `json:"if,omitempty"`
	Then                 *Schema     `json:"then,omitempty"`
	Else                 *Schema     `json:"else,omitempty"`
	Default              any         `json:"default,omitempty"`
	Examples             []any       `json:"examples,omitempty"`
	Definitions          *Properties `json:"$defs,omitempty"`

	never bool
}

// Pattern is a regular expression in the syntax that RE2 and ECMA 262 have in common.
type Pattern string

// MarshalJSON writes a pattern in which all characters outside of ASCII are escaped, because some of them are
// invisible.
func (p Pattern) MarshalJSON() ([]byte, error) {
	text, err := encode(string(p))
	var b bytes.Buffer
	for _, r := range string(text) {
		if r < utf8.RuneSelf {
			b.WriteRune(r)
			continue
		}
		for _, unit := range utf16.Encode([]rune{r}) {
			fmt.Fprintf(&b, `\u%04x`, unit)
		}
	}
	return b.Bytes(), err
}

// Never is the constructor of the JSON Schema "false", which refuses every value.
func Never() *Schema { return &Schema{never: true} }

// MarshalJSON writes the schema with the keywords that are set.
func (s *Schema) MarshalJSON() ([]byte, error) {
	if s.never {
		return []byte("false"), nil
	}
	type keywords Schema
	return encode((*keywords)(s))
}

// Properties maps names to schemas, and keeps the order in which the names were set.
type Properties struct {
	names   []string
	schemas map[string]*Schema
}

// Set adds a schema with the given name, or replaces the schema that already has this name.
func (p *Properties) Set(name string, s *Schema) {
	if p.schemas == nil {
		p.schemas = map[string]*Schema{}
	}
	if p.schemas[name] == nil {
		p.names = append(p.names, name)
	}
	p.schemas[name] = s
}

// Remove deletes the schema with the given name, if there is one.
func (p *Properties) Remove(name string) {
	p.names = slices.DeleteFunc(p.names, func(other string) bool { return other == name })
	delete(p.schemas, name)
}

// Get returns the schema with the given name, or nil.
func (p *Properties) Get(name string) *Schema {
	if p == nil {
		return nil
	}
	return p.schemas[name]
}

// Names returns the names of the schemas, in the order in which the names were set.
func (p *Properties) Names() []string {
	if p == nil {
		return nil
	}
	return p.names
}

// MarshalJSON writes the schemas in the order in which their names were set.
func (p *Properties) MarshalJSON() ([]byte, error) {
	members := make([][]byte, len(p.names))
	for i, name := range p.names {
		key, _ := encode(name) // a string always encodes
		schema, err := encode(p.schemas[name])
		if err != nil {
			return nil, err
		}
		members[i] = slices.Concat(key, []byte(":"), schema)
	}
	return slices.Concat([]byte("{"), bytes.Join(members, []byte(",")), []byte("}")), nil
}

// encode converts a value to JSON as json.Marshal does, but does not escape <, > and &, so that patterns stay readable.
func encode(value any) ([]byte, error) {
	var b bytes.Buffer
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)
	err := encoder.Encode(value)
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), err
}
