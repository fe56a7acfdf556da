package main

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/trainyard/trainyard/api/message"
	"github.com/trainyard/trainyard/generator"
	"github.com/trainyard/trainyard/generator/load"
	"github.com/trainyard/trainyard/generator/problem"
)

func (f *explainFlags) origins(ctx context.Context, s streams, path string, steps []string) error {
	request, err := f.input.request(s.in)
	if err != nil {
		return err
	}
	sources, err := newPipeline().Sources(ctx, request)
	if err != nil {
		return err
	}
	all, err := reference()
	if err != nil {
		return err
	}
	if steps = withSpec(all, steps); isBelowEnvironments(steps) {
		if steps, sources, err = inEnvironment(steps, sources, request.Environments); err != nil {
			return err
		}
	}
	found, total := valuesAt(steps, sources)
	if total == 0 {
		return notSet(all, path, steps, sources)
	}
	if f.output == "json" {
		return printJSON(s.out, found)
	}
	for _, source := range found {
		prefix := ""
		if source.Environment != "" {
			prefix = source.Environment + ": "
		}
		for _, v := range source.Values {
			fmt.Fprintf(s.out, "%s%s: %s  (%s)\n", prefix, v.Path, asJSON(v.Value), v.Position)
		}
	}
	return nil
}

func valuesAt(path []string, sources []generator.Source) (found []generator.Source, total int) {
	for _, source := range sources {
		values := []load.Value{}
		for _, v := range source.Values {
			if _, ok := follow(path, v.Keys); ok {
				values = append(values, v)
			}
		}
		found, total = append(found, generator.Source{Environment: source.Environment, Values: values}), total+len(values)
	}
	return found, total
}

// inEnvironment converts a path below spec.environments.NAME to a path below spec, and also returns the
// source with the values of the environment NAME. The argument "sources" contains one source for each
// environment that --env selects. Without --env, the argument contains the sources of all environments.
// For the path spec.environments itself, inEnvironment returns all sources.
func inEnvironment(path []string, sources []generator.Source, selected []string) ([]string, []generator.Source, error) {
	var names []string
	for _, source := range sources {
		if source.Environment == "" {
			return nil, nil, usageErrorf("the document has no environments: want a path outside spec.environments, such as spec.runtimes")
		}
		names = append(names, source.Environment)
	}
	if len(path) == 2 {
		return path[:1], sources, nil
	}
	which := slices.Index(names, path[2])
	switch {
	case which >= 0:
		return withoutEnvironment(path), sources[which : which+1], nil
	case len(selected) > 0:
		return nil, nil, usageErrorf("the path is below spec.environments.%s, but --env selects %s: leave --env out", path[2], strings.Join(selected, ", "))
	}
	return nil, nil, unknownName("spec.environments", path[2], names)
}

// notSet returns an error that explains why no layer sets a value at a path. notSet can give four reasons: a
// wrong index, an unknown name, an unknown field, or a field that has its default value.
func notSet(all []field, path string, steps []string, sources []generator.Source) error {
	known := len(steps) - 1
	for known > 0 && len(keysBelow(steps[:known], sources)) == 0 {
		known--
	}
	for depth := known; depth < len(steps); depth++ {
		keys, parent := keysBelow(steps[:depth], sources), problem.Path(withoutBrackets(steps[:depth]))
		switch {
		case len(keys) > 0 && isIndex(keys[len(keys)-1]):
			return usageErrorf("%s has items 0 to %d: name one of them, as in %s[0]", parent, len(keys)-1, parent)
		case isChosenName(all, steps[:depth+1]):
			return unknownName(parent, steps[depth], keys)
		}
	}
	nearest := nearestField(all, steps)
	if !slices.ContainsFunc(all, func(one field) bool { _, ok := one.depthBelow(nearest); return ok }) {
		return unknownField(path)
	}
	return usageErrorf("no layer sets %s: run \"trainyard explain %s\" to see its default", path, path)
}

// isChosenName reports whether the last step of a path is a name that the author of the document chose.
func isChosenName(all []field, path []string) bool {
	last, named := len(path)-1, false
	for _, one := range all {
		if len(one.steps) < len(path) || !slices.EqualFunc(one.steps[:last], path[:last], matches) {
			continue
		}
		if one.steps[last] == path[last] && path[last] != anyName {
			return false
		}
		named = named || one.steps[last] == anyName
	}
	return named
}

// keysBelow returns the sorted keys directly below a path, from all environments.
func keysBelow(path []string, sources []generator.Source) []string {
	keys := map[string]bool{}
	for _, source := range sources {
		for _, v := range source.Values {
			if rest, ok := follow(path, v.Keys); ok && len(rest) > 0 {
				keys[rest[0]] = true
			}
		}
	}
	return slices.Sorted(maps.Keys(keys))
}

func unknownName(at, name string, names []string) error {
	switch nearest := message.Nearest(name, names); {
	case nearest != "":
		return usageErrorf("%s has no %s: did you mean %q?", at, name, nearest)
	case len(names) == 0:
		return usageErrorf("%s has no %s: no layer sets %s", at, name, at)
	}
	return usageErrorf("%s has no %s: it has %s", at, name, listNames(names))
}

// asJSON formats a value of a document as JSON. Encoding a value of a document cannot fail.
func asJSON(value any) string {
	var text strings.Builder
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false)
	_ = encoder.Encode(value)
	return strings.TrimSuffix(text.String(), "\n")
}
