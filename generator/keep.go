package generator

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io/fs"

	"github.com/trainyard/trainyard/generator/object"
)

// Store keeps texts by key, and may lose any of them at any time.
type Store interface {
	Get(key string) (text []byte, ok bool)
	Put(key string, text []byte)
}

// KeepIn returns a pipeline that keeps in a store what documents become: who asks
// again for the same waits for no CUE. The key is made of all that a result depends
// on: the request, our CUE, and program, which is to differ for each build of the
// code. Documents with problems are not kept.
func (p *Pipeline) KeepIn(store Store, program string) *Pipeline {
	kept := *p
	kept.store, kept.program = store, program
	return &kept
}

// kept is the result of a request, if the store has it.
func (p *Pipeline) kept(key string) ([]Platform, bool) {
	if p.store == nil {
		return nil, false
	}
	text, ok := p.store.Get(key)
	if !ok {
		return nil, false
	}
	var platforms []Platform
	err := object.Unpack(text, &platforms)
	return platforms, err == nil && len(platforms) > 0
}

// keep stores the result of a request. It is no loss if that fails.
func (p *Pipeline) keep(key string, platforms []Platform) {
	if p.store == nil {
		return
	}
	if text, err := object.Pack(platforms); err == nil {
		p.store.Put(key, text)
	}
}

// key names a request, or is empty where nothing is kept.
func (p *Pipeline) key(request Request) (string, error) {
	if p.store == nil {
		return "", nil
	}
	h := sha256.New()
	err := json.NewEncoder(h).Encode(struct {
		Program string
		Request
	}{p.program, request})
	if err == nil {
		err = fs.WalkDir(p.definitions, ".", func(name string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() {
				return err
			}
			text, err := fs.ReadFile(p.definitions, name)
			fmt.Fprintf(h, "%q %d\n", name, len(text))
			h.Write(text)
			return err
		})
	}
	return hex.EncodeToString(h.Sum(nil)), err
}
