package generator

import (
	"maps"

	"cuelang.org/go/cue"
)

// reads are the inputs that a piece depends on. It is made without the others: those who differ in them share it.
type reads struct {
	only  map[string]any // true for all that is below a key; nil for everything
	never map[string]any // what is left out of that
}

// readsOf reads what a maker says of itself, once.
func (e *engine) readsOf(by maker) (reads, error) {
	if known, ok := e.reads[by]; ok {
		return known, nil
	}
	v, err := e.maker(by)
	if err != nil {
		return reads{}, err
	}
	var r reads
	for key, into := range map[string]*map[string]any{"reads": &r.only, "omits": &r.never} {
		if mask := v.LookupPath(cue.MakePath(cue.Str(key))); mask.Exists() {
			if err := decode(mask, into); err != nil {
				return reads{}, bug("reading what "+by.name+" "+key, err)
			}
		}
	}
	e.reads[by] = r
	return r, nil
}

// everything reports whether it is the whole input.
func (r reads) everything() bool { return r.only == nil && r.never == nil }

// of is what is read of an input.
func (r reads) of(in map[string]any) map[string]any {
	if r.only != nil {
		in = only(in, r.only)
	}
	if r.never != nil {
		in = lacking(in, r.never)
	}
	return in
}

// only is what a mask shows of an input.
func only(in, mask map[string]any) map[string]any {
	some := map[string]any{}
	for key, below := range mask {
		value, has := in[key]
		if below, deeper := below.(map[string]any); has && deeper {
			mapping, _ := value.(map[string]any)
			some[key] = only(mapping, below)
		} else if has {
			some[key] = value
		}
	}
	return some
}

// lacking is an input without what a mask shows of it.
func lacking(in, mask map[string]any) map[string]any {
	some := maps.Clone(in)
	for key, below := range mask {
		value, has := in[key]
		if below, deeper := below.(map[string]any); has && deeper {
			mapping, _ := value.(map[string]any)
			some[key] = lacking(mapping, below)
		} else {
			delete(some, key)
		}
	}
	return some
}
