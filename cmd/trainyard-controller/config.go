package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/spf13/pflag"
	"go.yaml.in/yaml/v3"

	"github.com/trainyard/trainyard/api/message"
)

// configFile is a YAML file with settings. Each key is the name of a flag without its dashes. If a flag accepts several
// values, its setting is a list:
//
//	workers: 8
//	allow-http: [git.git.svc:80]
//
// If the command line contains a flag, the setting for this flag in the file has no effect.
type configFile struct {
	path     string
	set      *pflag.FlagSet
	problems []error
}

// readConfig sets the flags that a configuration file contains. The error has one line for each mistake in the
// file. Each line begins with the position of the mistake.
func readConfig(path string, set *pflag.FlagSet) error {
	text, err := os.ReadFile(path)
	if err != nil {
		return usageErrorf("--config: %w", err)
	}
	c := &configFile{path: path, set: set}
	decoder := yaml.NewDecoder(bytes.NewReader(text))
	if root := c.decode(decoder); root != nil {
		c.read(root.Content[0])
	}
	if second := c.decode(decoder); second != nil {
		c.refuse(second, "want one YAML document")
	}
	if len(c.problems) > 0 {
		return &usageError{errors.Join(c.problems...)}
	}
	return nil
}

// decode returns the next YAML document. At the end of the file, or after a syntax error, decode returns nil.
func (c *configFile) decode(decoder *yaml.Decoder) *yaml.Node {
	document := &yaml.Node{}
	err := decoder.Decode(document)
	switch {
	case err == nil:
		return document
	case !errors.Is(err, io.EOF) && len(c.problems) == 0: // after an error, the decoder returns the same error again
		// An error of the YAML library, such as "yaml: line 2: did not find expected key", becomes
		// "FILE:2: did not find expected key".
		where := strings.TrimPrefix(strings.TrimPrefix(err.Error(), "yaml: "), "line ")
		c.problems = append(c.problems, fmt.Errorf("%s:%s", c.path, where))
	}
	return nil
}

func (c *configFile) refuse(at *yaml.Node, format string, args ...any) {
	c.problems = append(c.problems, fmt.Errorf("%s:%d:%d: %s", c.path, at.Line, at.Column, fmt.Sprintf(format, args...)))
}

// read(root) sets each flag that the configuration file contains, unless the command line has already set the flag. The
// argument "root" is the top-level YAML node of the file. Each key in the file is the name of a flag. The method
// refuses unknown keys and repeated keys.
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

// find returns the flag whose name is the given key. If the file cannot set a flag with this name, the method adds a
// problem to c.problems, and returns nil.
func (c *configFile) find(key *yaml.Node) *pflag.Flag {
	var names []string
	c.set.VisitAll(func(flag *pflag.Flag) {
		if flag.Name != "config" && flag.Name != "help" && flag.Name != "version" {
			names = append(names, flag.Name)
		}
	})
	if slices.Contains(names, key.Value) {
		return c.set.Lookup(key.Value)
	}
	if nearest := message.Nearest(key.Value, names); nearest != "" {
		c.refuse(key, "unknown setting %s: did you mean %q?", message.Quote(key.Value), nearest)
	} else {
		c.refuse(key, "unknown setting %s: want one of %s", message.Quote(key.Value), strings.Join(names, ", "))
	}
	return nil
}

// wanted is a map. Each key is the name that the package pflag gives to a type of flags, such as "float32". Each value
// describes what a flag of this type accepts, such as "a number".
var wanted = map[string]string{"bool": "true or false", "int": "an integer", "float32": "a number", "string": "a text"}

// apply sets a flag to a value from the file. If the command line has already set the flag, the method only checks the
// value from the file. In this case, the flag keeps the value from the command line.
func (c *configFile) apply(flag *pflag.Flag, value *yaml.Node) {
	if values, several := flag.Value.(pflag.SliceValue); several {
		c.applyList(flag, values, value)
		return
	}
	before := flag.Value.String()
	if value.Kind != yaml.ScalarNode || value.Tag == "!!null" || flag.Value.Set(value.Value) != nil {
		c.refuse(value, "%s: want %s", flag.Name, wanted[flag.Value.Type()])
		return
	}
	c.check(flag, value)
	if flag.Changed {
		_ = flag.Value.Set(before) // the flag had this value, so it is valid
	}
}

// check validates the value of a flag. If the flag accepts several values, check validates one item
// of the list.
func (c *configFile) check(flag *pflag.Flag, value *yaml.Node) {
	if check := checks[flag.Name]; check != nil {
		if err := check(value.Value); err != nil {
			c.refuse(value, "%s: %s: %v", flag.Name, message.Quote(value.Value), err)
		}
	}
}

// applyList sets a flag that accepts several values.
func (c *configFile) applyList(flag *pflag.Flag, values pflag.SliceValue, list *yaml.Node) {
	if list.Kind != yaml.SequenceNode {
		c.refuse(list, "%s: want a list", flag.Name)
		return
	}
	var texts []string
	for _, item := range list.Content {
		if item.Kind != yaml.ScalarNode || item.Tag == "!!null" {
			c.refuse(item, "%s: want a text", flag.Name)
			return
		}
		c.check(flag, item)
		texts = append(texts, item.Value)
	}
	if !flag.Changed {
		_ = values.Replace(texts) // cannot fail, because the flag accepts any texts
	}
}
