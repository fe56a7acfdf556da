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
	request, err := f.input.request(s.in)
	if err != nil {
		return err
	}
	sources, err := newPipeline().Sources(ctx, request)
	if err != nil {
		return err
	}
	path, sources, err = inEnvironment(path, sources)
	if err != nil {
		return err
	}
	found, total := make([]generator.Source, len(sources)), 0
	for i, source := range sources {
		found[i].Environment = source.Environment
		for _, v := range source.Values {
			if path == "" || v.Path == path || strings.HasPrefix(v.Path, path+".") {
				found[i].Values = append(found[i].Values, v)
			}
		}
		total += len(found[i].Values)
	}
	if total == 0 {
		return notSet(path, sources)
	}
	if f.output == "json" {
		return printJSON(s.out, found)
	}
	printSources(s.out, found)
	return nil
}

// inEnvironment writes a path as values have it, with items as .0, and, for one below an environment, says what it is
// in the document of that environment.
func inEnvironment(path string, sources []generator.Source) (string, []generator.Source, error) {
	steps := step.FindAllString(path, -1)
	for i, s := range steps {
		steps[i] = strings.Trim(s, "[]")
	}
	if len(steps) < 2 || steps[0] != "spec" || steps[1] != "environments" {
		return strings.Join(steps, "."), sources, nil
	}
	if len(steps) == 2 {
		return "spec", sources, nil
	}
	var names []string
	for _, source := range sources {
		if problem.Path([]string{source.Environment}) == steps[2] {
			return strings.Join(slices.Concat(steps[:1], steps[3:]), "."), []generator.Source{source}, nil
		}
		names = append(names, source.Environment)
	}
	return "", nil, noSuchName("spec.environments", steps[2], slices.DeleteFunc(names, func(name string) bool { return name == "" }))
}

// notSet says why nothing is said of a path: there is no such field, nothing has that name, or the default holds.
func notSet(path string, sources []generator.Source) error {
	all, err := newPipeline().Reference()
	if err != nil {
		return err
	}
	asked := step.FindAllString(path, -1)
	for depth := range asked {
		names := namesAt(asked[:depth], sources)
		if slices.Contains(names, asked[depth]) || !isNamed(all, asked[:depth+1]) {
			continue
		}
		return noSuchName(strings.Join(asked[:depth], "."), asked[depth], names)
	}
	if !isField(all, nearest(all, path)) {
		return unknownField(path)
	}
	return &usageError{fmt.Errorf("no layer sets %s: its default holds, if it has one (trainyard explain %s)", path, path)}
}

func isField(all []generator.Field, path string) bool {
	return slices.ContainsFunc(all, func(field generator.Field) bool {
		_, ok := below(field.Path, path)
		return ok
	})
}

// isNamed tells whether the last step of a path is a name that a person chose.
func isNamed(all []generator.Field, path []string) bool {
	last, named := path[len(path)-1], false
	for _, field := range all {
		steps := step.FindAllString(field.Path, len(path))
		if len(steps) < len(path) || !fits(steps[:len(path)-1], path) {
			continue
		}
		switch steps[len(path)-1] {
		case last:
			return false
		case "NAME":
			named = true
		}
	}
	return named
}

// fits tells whether a path leads along some steps of the reference.
func fits(steps, path []string) bool {
	for i, s := range steps {
		if s != path[i] && s != "NAME" && (s != "[]" || !index.MatchString(path[i])) {
			return false
		}
	}
	return true
}

// namesAt are the steps by which values go on below a path, in all environments, ordered.
func namesAt(path []string, sources []generator.Source) []string {
	names := map[string]bool{}
	for _, source := range sources {
		for _, v := range source.Values {
			steps := step.FindAllString(v.Path, -1)
			if len(steps) > len(path) && slices.Equal(steps[:len(path)], path) {
				names[steps[len(path)]] = true
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
		return &usageError{fmt.Errorf("%s has no %s: no layer sets anything there", at, name)}
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
			text, _ := json.Marshal(v.Value) // a value of a document always marshals
			fmt.Fprintf(w, "%s%s: %s  (%s)\n", prefix, v.Path, text, v.Position)
		}
	}
}
