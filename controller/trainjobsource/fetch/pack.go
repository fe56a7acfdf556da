package fetch

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/format/packfile"
)

// object is an object of Git: a commit, a tag, a folder or a file.
type object struct {
	kind plumbing.ObjectType
	data []byte
}

// objects is a map from hashes to the objects of Git. The hash of each object is computed from its content, so a server
// cannot send another object in place of the wanted object.
type objects map[plumbing.Hash]object

// get returns the data of an object. The method "get" returns an error if the object is missing, or
// is not of the given kind.
func (o objects) get(hash plumbing.Hash, kind plumbing.ObjectType) ([]byte, error) {
	found, exists := o[hash]
	switch {
	case !exists:
		return nil, fmt.Errorf("the server did not send the Git object of type %s with the hash %s", kind, hash)
	case found.kind != kind:
		return nil, fmt.Errorf("%s is a %s, want a %s", hash, found.kind, kind)
	}
	return found.data, nil
}

// packReader reads the objects of a pack.
type packReader struct {
	scanner  *packfile.Scanner
	content  string
	limits   Limits
	inflated int64
	byOffset map[int64]object
	byHash   objects
}

// readPack reads a pack. readPack checks the declared size of each object before it reads the object, because a few
// bytes can inflate to a large object. The argument "content" describes the pack in error messages, for example as
// "commit".
func readPack(r io.Reader, content string, limits Limits) (objects, error) {
	p := &packReader{packfile.NewScanner(r), content, limits, 0, map[int64]object{}, objects{}}
	_, count, err := p.scanner.Header()
	if err != nil {
		return nil, describePack(err)
	}
	if int64(count) > int64(limits.Objects) {
		return nil, fmt.Errorf("the %s has %d Git objects (files, folders and commits), want at most %d", content, count, limits.Objects)
	}
	for range count {
		if err := p.readObject(); err != nil {
			return nil, describePack(err)
		}
	}
	if _, err := p.scanner.Checksum(); err != nil {
		return nil, describePack(err)
	}
	return p.byHash, nil
}

func describePack(err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return errors.New("the server closed the connection in the middle of its answer")
	}
	return fmt.Errorf("reading the server's answer: %w", err)
}

// readObject reads the next object, and resolves it if it is a delta. A server must send the base of a delta (the
// object that the delta changes) before the delta, so the base is already in memory.
func (p *packReader) readObject() error {
	header, err := p.scanner.NextObjectHeader()
	if err != nil {
		return err
	}
	data, err := p.inflate(header.Length)
	if err != nil {
		return err
	}
	result := object{header.Type, data}
	switch header.Type {
	case plumbing.CommitObject, plumbing.TreeObject, plumbing.BlobObject, plumbing.TagObject:
	case plumbing.OFSDeltaObject:
		base, exists := p.byOffset[header.OffsetReference]
		result, err = p.patch(base, exists, data)
	case plumbing.REFDeltaObject:
		base, exists := p.byHash[header.Reference]
		result, err = p.patch(base, exists, data)
	default:
		return fmt.Errorf("the pack contains an object of the unknown type %d", header.Type)
	}
	if err != nil {
		return err
	}
	p.byOffset[header.Offset] = result
	p.byHash[plumbing.ComputeHash(result.kind, result.data)] = result
	return nil
}

// inflate returns the decompressed data of an object. The method "inflate" returns an error if the
// object exceeds a limit, or does not have the declared size.
func (p *packReader) inflate(declared int64) ([]byte, error) {
	if err := p.count(declared); err != nil {
		return nil, err
	}
	var buffer bytes.Buffer // it grows with the data, because the declared size may be wrong
	if _, _, err := p.scanner.NextObject(&buffer); err != nil {
		return nil, err
	}
	if int64(buffer.Len()) != declared {
		return nil, fmt.Errorf("an object of the pack has %d bytes, but its declared size is %d bytes", buffer.Len(), declared)
	}
	return buffer.Bytes(), nil
}

// patch applies a delta to its base.
func (p *packReader) patch(base object, exists bool, delta []byte) (object, error) {
	if !exists {
		return object{}, errors.New("the pack contains a delta without its base")
	}
	_, n := binary.Uvarint(delta)
	target, m := binary.Uvarint(delta[max(n, 0):])
	if n <= 0 || m <= 0 {
		return object{}, errors.New("the pack contains an invalid delta")
	}
	if err := p.count(int64(min(target, 1<<40))); err != nil {
		return object{}, err
	}
	data, err := packfile.PatchDelta(base.data, delta)
	return object{base.kind, data}, err
}

// count adds the size of an object to the total size of the pack. The method
// returns an error if a limit is exceeded.
func (p *packReader) count(size64 int64) error {
	if size64 < 0 || size64 > p.limits.Object {
		return fmt.Errorf("a file or folder of the %s is larger than %s", p.content, size(p.limits.Object))
	}
	if p.inflated += size64; p.inflated > p.limits.Inflated {
		return fmt.Errorf("the files and folders of the %s are together larger than %s", p.content, size(p.limits.Inflated))
	}
	return nil
}
