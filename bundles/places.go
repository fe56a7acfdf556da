package bundles

// places is a tree of paths, to know while walking an object where a leaf is.
type places struct {
	leaf   int // -1 where the path goes on
	fields map[string]*places
	items  map[int]*places
}

// newPlaces takes paths of keys (string) and indexes (int).
func newPlaces(paths [][]any) *places {
	root := &places{leaf: -1}
	for i, path := range paths {
		at := root
		for _, step := range path {
			at = at.add(step)
		}
		at.leaf = i
	}
	return root
}

func (p *places) add(step any) *places {
	if i, isItem := step.(int); isItem {
		p.items = placed(p.items, i)
		return p.items[i]
	}
	key, _ := step.(string)
	p.fields = placed(p.fields, key)
	return p.fields[key]
}

// placed makes a place for a step, if there is none.
func placed[K comparable](at map[K]*places, step K) map[K]*places {
	if at == nil {
		at = map[K]*places{}
	}
	if at[step] == nil {
		at[step] = &places{leaf: -1}
	}
	return at
}

// field is the place of a field, or nil, which has no places below it.
func (p *places) field(key string) *places {
	if p == nil {
		return nil
	}
	return p.fields[key]
}

// item is the place of an item, or nil.
func (p *places) item(i int) *places {
	if p == nil {
		return nil
	}
	return p.items[i]
}
