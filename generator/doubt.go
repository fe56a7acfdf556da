package generator

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	"cuelang.org/go/cue"

	"github.com/trainyard/trainyard/generator/internal/constraint"
	"github.com/trainyard/trainyard/generator/problem"
)

// doubt stands where a value was refused, or is missing: what the author means there is unknown, and
// what follows from it is no problem yet. So rules over several values are asked of several documents
// that could be meant, and what they do not all find is not said.
type doubt struct {
	schema   cue.Value
	optional bool // whether there may be none
}

// supposition chooses what stands for doubts.
type supposition struct {
	engine *engine
	bare   bool     // whether nothing does, where there may be nothing
	full   bool     // whether mappings and lists have all that they can have, and not only what they must
	names  []string // of what is in mappings where names are free
}

// maxDoubts is with how many a document is not looked at as a whole, until some have been mended.
const maxDoubts = 1000

// supposed are documents that could be meant by one with doubts, and the paths of these.
func (e *engine) supposed(doubtful map[string]any) (documents []map[string]any, doubts []string) {
	doubts = doubtsIn(doubtful, nil)
	switch {
	case len(doubts) == 0:
		return []map[string]any{doubtful}, nil
	case len(doubts) > maxDoubts:
		return nil, doubts
	}
	for _, s := range []supposition{
		{engine: e, bare: true},
		{engine: e, names: namesIn(doubtful, nil)},
		{engine: e, full: true},
	} {
		document, _ := s.of(doubtful)
		documents = append(documents, document.(map[string]any)) //nolint:forcetypeassert // as it was before
	}
	return documents, doubts
}

// Bounds on what stands for one doubt.
const (
	maxNames = 256
	maxDepth = 8 // mappings and lists inside each other
)

// namesIn adds the names in a document: they may be those of what is in doubt.
func namesIn(value any, found []string) []string {
	switch value := value.(type) {
	case string:
		if len(found) < maxNames && !slices.Contains(found, value) {
			found = append(found, value)
		}
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(value)) {
			found = namesIn(value[key], namesIn(key, found))
		}
	case []any:
		for _, item := range value {
			found = namesIn(item, found)
		}
	}
	return found
}

// doubtsIn lists where doubts are.
func doubtsIn(value any, path []string) (found []string) {
	switch value := value.(type) {
	case doubt:
		return []string{problem.Path(path)}
	case map[string]any:
		for key, below := range value {
			found = append(found, doubtsIn(below, extend(path, key))...)
		}
	case []any:
		for i, item := range value {
			found = append(found, doubtsIn(item, extend(path, strconv.Itoa(i)))...)
		}
	}
	return found
}

// of is a value without doubts; ok is false if nothing stands for it.
func (s *supposition) of(value any) (certain any, ok bool) {
	switch value := value.(type) {
	case doubt:
		if s.bare && value.optional {
			return nil, false
		}
		return s.standIn(value.schema, s.names, 0)
	case map[string]any:
		fields := make(map[string]any, len(value))
		for key, below := range value {
			if below, ok := s.of(below); ok {
				fields[key] = below
			}
		}
		return fields, true
	case []any:
		items := make([]any, 0, len(value))
		for _, item := range value {
			if item, ok := s.of(item); ok {
				items = append(items, item)
			}
		}
		return items, true
	}
	return value, true
}

// standIn is a value that a schema admits; ok is false if none is known.
func (s *supposition) standIn(schema cue.Value, names []string, depth int) (value any, ok bool) {
	switch kind := schema.IncompleteKind(); {
	case depth > maxDepth || !schema.Exists():
		return nil, false
	case kind&cue.StructKind != 0:
		return s.mapping(schema, names, depth), true
	case kind&cue.ListKind != 0:
		return s.list(schema, depth), true
	}
	fitting := s.engine.fitting(schema)
	if len(fitting) == 0 {
		return nil, false
	}
	if s.full {
		return fitting[len(fitting)-1], true
	}
	return fitting[0], true
}

// mapping is one that a schema admits. What has a name of the document has no more of them in it.
func (s *supposition) mapping(schema cue.Value, names []string, depth int) map[string]any {
	keys, fields := s.engine.keysOf(schema), map[string]any{}
	known := keys.required
	if s.full {
		known = slices.Collect(maps.Keys(keys.known))
	}
	for _, key := range known {
		if below, ok := s.standIn(keys.known[key], names, depth+1); ok {
			fields[key] = below
		}
	}
	for _, name := range names {
		if _, known := keys.known[name]; known {
			continue
		}
		if below, ok := s.standIn(descend(schema, []string{name}), nil, depth+1); ok {
			fields[name] = below
		}
	}
	return fields
}

// list is one that a schema admits.
func (s *supposition) list(schema cue.Value, depth int) []any {
	items := []any{}
	if item, ok := s.standIn(schema.LookupPath(cue.MakePath(cue.AnyIndex)), nil, depth+1); ok && s.full {
		items = append(items, item)
	}
	return items
}

// samples are scalars of the forms that fields ask for, small ones first.
var samples = []any{
	false, true, int64(1), int64(0), int64(2), int64(1024), int64(65_535),
	"1", "1Gi", "1Pi", "1m", "24h", "1.31", "1.99", "8080", "20000-20100",
	"main", "sample", "/sample", "/sample/other", "sample/sample", "sample.example/sample", "sample.example/sample:1",
	"10.0.0.0/8", "10.0.0.1", "https://sample.example/sample", "s3://sample/sample", "hf://sample/sample", "sample@sample.example",
}

// fitting are the values that a scalar's schema lists, and samples that it admits.
func (e *engine) fitting(schema cue.Value) []any {
	name := e.traitsOf(schema).name
	if known, ok := e.samples[name]; ok && name != "" {
		return known
	}
	wanted := constraint.Of(schema)
	fitting := slices.Clone(wanted.Enum)
	if len(fitting) == 0 || len(wanted.Either) > 0 {
		for _, sample := range samples {
			if schema.Unify(e.context.Encode(sample)).Validate(cue.Concrete(true)) == nil {
				fitting = append(fitting, sample)
			}
		}
	}
	e.samples[name] = fitting
	return fitting
}

// agreed are the problems that all lists have, but for those of values that are in doubt.
func agreed(found []problem.List, doubts []string) problem.List {
	counts := map[problem.Problem]int{}
	for i, list := range found {
		for _, one := range list {
			if counts[one] == i { // which all lists before have
				counts[one] = i + 1
			}
		}
	}
	return slices.DeleteFunc(slices.Clone(found[0]), func(one problem.Problem) bool {
		return counts[one] < len(found) || slices.ContainsFunc(doubts, func(doubt string) bool {
			return strings.HasPrefix(one.Path+".", doubt+".")
		})
	})
}
