package generator

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"slices"

	"github.com/trainyard/trainyard/generator/object"
)

// Store keeps texts by key, and may lose any of them at any time.
type Store interface {
	Get(key string) (text []byte, ok bool)
	Put(key string, text []byte)
}

// KeepIn returns a pipeline that keeps in a store what documents become in each environment: who
// asks again, for all of them or for one, waits for no CUE. The key is made of all that a result
// depends on: the document, our CUE, and program, which is to differ for each build of the code.
// Documents with problems are not kept.
func (p *Pipeline) KeepIn(store Store, program string) *Pipeline {
	kept := *p
	kept.store, kept.program = store, program
	return &kept
}

// kept is the result of a request, if the store has all of it.
func (p *Pipeline) kept(key resultKey, wanted []string) ([]Platform, bool) {
	if p.store == nil || slices.Contains(wanted, "") { // which names no environment
		return nil, false
	}
	environments := slices.Compact(slices.Sorted(slices.Values(wanted)))
	if len(wanted) == 0 && !p.recall(key.environments(), &environments) {
		return nil, false
	}
	platforms := make([]Platform, len(environments))
	for i, name := range environments {
		// All documents have a name: what has none has been something else.
		if !p.recall(key.platform(name), &platforms[i]) || platforms[i].Name == "" || platforms[i].Environment != name {
			return nil, false
		}
	}
	return platforms, len(platforms) > 0
}

func (p *Pipeline) recall(key string, into any) bool {
	text, ok := p.store.Get(key)
	return ok && object.Unpack(text, into) == nil
}

// keep stores the result of a request. It is no loss if that fails.
func (p *Pipeline) keep(key resultKey, wanted []string, platforms []Platform) {
	if p.store == nil {
		return
	}
	var environments []string
	for _, platform := range platforms {
		environments = append(environments, platform.Environment)
		p.remember(key.platform(platform.Environment), platform)
	}
	if len(wanted) == 0 {
		p.remember(key.environments(), environments)
	}
}

func (p *Pipeline) remember(key string, value any) {
	if text, err := object.Pack(value); err == nil {
		p.store.Put(key, text)
	}
}

// resultKey is a sum of all that the results of a document depend on.
type resultKey [sha256.Size]byte

// environments is the key of their names, which are kept once all have been generated.
func (k resultKey) environments() string { return k.of("environments") }

// platform is the key of what the document becomes in an environment.
func (k resultKey) platform(environment string) string { return k.of("platform " + environment) }

func (k resultKey) of(part string) string {
	sum := sha256.Sum256(append(k[:], part...))
	return hex.EncodeToString(sum[:])
}

// key is that of a request's documents, and nothing in particular where nothing is kept.
func (p *Pipeline) key(request Request) (key resultKey, err error) {
	if p.store == nil {
		return key, nil
	}
	request.Environments = nil // each has a key of its own
	h := sha256.New()
	err = json.NewEncoder(h).Encode(struct {
		Program string
		Request
	}{p.program, request})
	return resultKey(h.Sum(nil)), err
}
