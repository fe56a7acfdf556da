package shape

import (
	"cuelang.org/go/cue"

	"github.com/trainyard/trainyard/generator/evaluate"
)

// IncludeAll makes every builder of a package read its whole input, so that different inputs never share components.
func IncludeAll(e *evaluate.Evaluator, pkg string) error {
	builders, err := e.Package(pkg)
	if err != nil {
		return err
	}
	known := *evaluate.Local(e, func() *masks { return &masks{} })
	for _, field := range []string{objectBuilders, componentBuilders} {
		for entries := evaluate.Fields(builders.LookupPath(cue.ParsePath(field))); entries.Next(); {
			known[builder{pkg, field, entries.Selector().Unquoted()}] = mask{}
		}
	}
	return nil
}

func (c *Components) Built() map[string]int {
	built := map[string]int{}
	for by, cached := range c.components {
		for _, g := range cached.groups {
			built[by.name] += len(g.built)
		}
	}
	return built
}
