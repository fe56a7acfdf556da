package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/pflag"
	"go.yaml.in/yaml/v3"

	"github.com/trainyard/trainyard/api/message"
)

// configFile is a YAML file with settings. Each key is the name of a flag without its dashes. A flag that accepts several
// values has a list:
//
//	workers: 8
//	allow-http: [git.git.svc:80]
//
// A flag on the command line takes precedence over the file.
type configFile struct {
	path     string
	set      *pflag.FlagSet
	problems []error
}

// readConfig sets the flags that a configuration file contains. The error has one line for each mistake, with its
// position.
func readConfig(path string, set *pflag.FlagSet) error {
	text, err := os.ReadFile(path)
	if err != nil {
		return usageErrorf("--config: %w", err)
	}
	var root, second yaml.Node
	decoder := yaml.NewDecoder(bytes.NewReader(text))
	if err := decoder.Decode(&root); errors.Is(err, io.EOF) {
		return nil // an empty file
	} else if err != nil {
		return usageErrorf("%s: %w", path, err) // the error begins with the line
	}
	c := &configFile{path: path, set: set}
	c.read(root.Content[0])
	if err := decoder.Decode(&second); !errors.Is(err, io.EOF) {
		c.refuse(&second, "want one YAML document")
	}
	if len(c.problems) > 0 {
		return &usageError{errors.Join(c.problems...)}
	}
	return nil
}

func (c *configFile) refuse(at *yaml.Node, format string, args ...any) {
	c.problems = append(c.problems, fmt.Errorf("%s:%d:%d: %s", c.path, at.Line, at.Column, fmt.Sprintf(format, args...)))
}

// read sets the flags of the file.
func (c *configFile) read(root *yaml.Node) {
	if root.Kind != yaml.MappingNode {
		c.refuse(root, "want a mapping from the names of flags to values, such as workers: 8")
		return
	}
	seen := map[string]int{}
	for i := 0; i+1 < len(root.Content); i += 2 {
		key, value := root.Content[i], root.Content[i+1]
		if line, twice := seen[key.Value]; twice {
			c.refuse(key, "%s is already set in line %d", message.Quote(key.Value), line)
			continue
		}
		seen[key.Value] = key.Line
		if flag := c.find(key); flag != nil {
			c.apply(flag, value)
		}
	}
}

// find returns the flag with the name in a key.
func (c *configFile) find(key *yaml.Node) *pflag.Flag {
	var names []string
	c.set.VisitAll(func(flag *pflag.Flag) {
		if flag.Name != "config" && flag.Name != "help" && flag.Name != "version" {
			names = append(names, flag.Name)
		}
	})
	for _, name := range names {
		if name == key.Value {
			return c.set.Lookup(name)
		}
	}
	if nearest := message.Nearest(key.Value, names); nearest != "" {
		c.refuse(key, "unknown setting %s: did you mean %s?", message.Quote(key.Value), nearest)
	} else {
		c.refuse(key, "unknown setting %s: want one of %s", message.Quote(key.Value), strings.Join(names, ", "))
	}
	return nil
}

// wanted maps the name of a type in pflag to a description of its values.
var wanted = map[string]string{"bool": "true or false", "int": "an integer", "float32": "a number", "string": "a text"}

// apply sets a flag, unless the command line has set it. The value is checked in both cases.
func (c *configFile) apply(flag *pflag.Flag, value *yaml.Node) {
	values, several := flag.Value.(pflag.SliceValue)
	if several && value.Kind == yaml.SequenceNode {
		c.applyList(flag, values, value)
		return
	}
	before := flag.Value.String()
	switch {
	case several:
		c.refuse(value, "%s: want a list", flag.Name)
	case value.Kind != yaml.ScalarNode || value.Tag == "!!null" || flag.Value.Set(value.Value) != nil:
		c.refuse(value, "%s: want %s", flag.Name, wanted[flag.Value.Type()])
	case flag.Changed:
		_ = flag.Value.Set(before) // the value is valid
	}
}

// applyList sets a flag that accepts several values.
func (c *configFile) applyList(flag *pflag.Flag, values pflag.SliceValue, list *yaml.Node) {
	var texts []string
	for _, item := range list.Content {
		if item.Kind != yaml.ScalarNode || item.Tag == "!!null" {
			c.refuse(item, "%s: want a text", flag.Name)
			return
		}
		texts = append(texts, item.Value)
	}
	if !flag.Changed {
		_ = values.Replace(texts) // a list of texts accepts all texts
	}
}
