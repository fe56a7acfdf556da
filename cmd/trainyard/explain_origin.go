package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/trainyard/trainyard/generator"
	"github.com/trainyard/trainyard/generator/problem"
)

// origins lists the values at a path or below it.
func (f *explainFlags) origins(ctx context.Context, s streams, path string) error {
	asked, err := stepsOf(path)
	if err != nil {
		return err
	}
	request, err := f.input.request(s.in)
	if err != nil {
		return err
	}
	sources, err := newPipeline().Sources(ctx, request)
	if err != nil {
		return err
	}
	if len(asked) > 1 && asked[0].text == "spec" && asked[1].text == "environments" {
		if asked, sources, err = inEnvironment(asked, sources, request.Environments); err != nil {
			return err
		}
	}
	found := at(asked, sources)
	if !slices.ContainsFunc(found, func(source generator.Source) bool { return len(source.Values) > 0 }) {
		return notSet(path, asked, sources)
	}
	if f.output == "json" {
		return printJSON(s.out, found)
	}
	printSources(s.out, found)
	return nil
}

// at are the values at a path or below it.
func at(path []pathStep, sources []generator.Source) []generator.Source {
	found := make([]generator.Source, len(sources))
	for i, source := range sources {
		found[i] = generator.Source{Environment: source.Environment, Values: []generator.Value{}}
		for _, v := range source.Values {
			if _, leads := after(path, v.Keys); leads {
				found[i].Values = append(found[i].Values, v)
			}
		}
	}
	return found
}

// inEnvironment says what a path below spec.environments is in the document of that environment.
func inEnvironment(path []pathStep, sources []generator.Source, only []string) ([]pathStep, []generator.Source, error) {
	var names []string
	for _, source := range sources {
		if source.Environment == "" {
			return nil, nil, &usageError{fmt.Errorf("the document has no environments: ask for spec")}
		}
		names = append(names, source.Environment)
	}
	if len(path) == 2 {
		return path[:1], sources, nil
	}
	which := slices.Index(names, path[2].text)
	switch {
	case which >= 0:
		return slices.Concat(path[:1], path[3:]), sources[which : which+1], nil
	case len(only) > 0:
		return nil, nil, &usageError{fmt.Errorf("the path is in environment %s, and --env asks for %s: leave --env out", path[2].text, strings.Join(only, ", "))}
	}
	return nil, nil, noSuchName("spec.environments", path[2].text, names)
}

// notSet says why nothing is said of a path: there is no such field, nothing has that name, or the default holds.
func notSet(path string, asked []pathStep, sources []generator.Source) error {
	all, err := reference()
	if err != nil {
		return err
	}
	known := len(asked) - 1
	for known > 0 && len(namesAt(asked[:known], sources)) == 0 {
		known--
	}
	for depth := known; depth < len(asked); depth++ {
		names, above := namesAt(asked[:depth], sources), shown(asked[:depth])
		switch {
		case len(names) > 0 && !slices.ContainsFunc(names, func(name string) bool { return !isIndex(name) }):
			return &usageError{fmt.Errorf("%s has items 0 to %d: say which, as in %s[0]", above, len(names)-1, above)}
		case isNamed(all, asked[:depth+1]):
			return noSuchName(above, asked[depth].text, names)
		}
	}
	near := nearest(all, asked)
	if !slices.ContainsFunc(all, func(one field) bool { _, ok := one.below(near); return ok }) {
		return unknownField(path)
	}
	return &usageError{fmt.Errorf("no layer sets %s: trainyard explain %s says what holds then", path, path)}
}

// isNamed tells whether the last step of a path is a name that a person chose.
func isNamed(all []field, path []pathStep) bool {
	above, last, named := path[:len(path)-1], path[len(path)-1], false
	for _, one := range all {
		if len(one.steps) < len(path) || !slices.EqualFunc(one.steps[:len(above)], above, pathStep.takes) {
			continue
		}
		switch at := one.steps[len(above)]; {
		case at.anyName():
			named = true
		case at.text == last.text:
			return false
		}
	}
	return named
}

// namesAt are the keys by which values go on below a path, in all environments, ordered.
func namesAt(path []pathStep, sources []generator.Source) []string {
	names := map[string]bool{}
	for _, source := range sources {
		for _, v := range source.Values {
			if rest, leads := after(path, v.Keys); leads && len(rest) > 0 {
				names[rest[0]] = true
			}
		}
	}
	return slices.Sorted(maps.Keys(names))
}

// maxNames is how many names a message lists.
const maxNames = 8

func noSuchName(at, name string, names []string) error {
	switch meant := problem.Nearest(name, names); {
	case meant != "":
		return &usageError{fmt.Errorf("%s has no %s: did you mean %s?", at, name, meant)}
	case len(names) == 0:
		return &usageError{fmt.Errorf("%s has no %s: nothing is set there", at, name)}
	case len(names) > maxNames:
		return &usageError{fmt.Errorf("%s has no %s: it has %s and %d more", at, name, strings.Join(names[:maxNames], ", "), len(names)-maxNames)}
	}
	return &usageError{fmt.Errorf("%s has no %s: it has %s", at, name, strings.Join(names, ", "))}
}

func printSources(w io.Writer, sources []generator.Source) {
	for _, source := range sources {
		prefix := ""
		if source.Environment != "" {
			prefix = source.Environment + ": "
		}
		for _, v := range source.Values {
			fmt.Fprintf(w, "%s%s: %s  (%s)\n", prefix, v.Path, asJSON(v.Value), v.Position)
		}
	}
}

// asJSON writes a value of a document, which always marshals, as the document has it.
func asJSON(value any) string {
	var text strings.Builder
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false)
	_ = encoder.Encode(value)
	return strings.TrimSuffix(text.String(), "\n")
}
