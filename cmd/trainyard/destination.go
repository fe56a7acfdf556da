package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"regexp"
	"slices"
	"strings"
	"sync"

	"golang.org/x/term"

	"github.com/trainyard/trainyard/bundles"
	"github.com/trainyard/trainyard/bundles/artifact"
	"github.com/trainyard/trainyard/bundles/registry"
	"github.com/trainyard/trainyard/generator"
)

// What became of an artifact.
const (
	planned   = "planned" // of --dry-run
	published = "published"
	unchanged = "unchanged" // it was there already
)

var verbs = map[string]string{published: "now holds", unchanged: "is up to date with"}

// parcel is an artifact on its way.
type parcel struct {
	Environment string `json:"environment,omitempty"`
	Reference   string `json:"reference"`  // with the tag and the digest
	Repository  string `json:"repository"` // as DEST names it
	Tag         string `json:"tag"`
	Digest      string `json:"digest"`
	Bytes       int64  `json:"bytes"` // of all blobs
	Objects     int    `json:"objects"`
	Status      string `json:"status"`

	at     destination
	to     string // for words: the repository with the tag
	packed artifact.Packed
}

func newParcel(to destination, p generator.Platform, tag string, packed artifact.Packed) *parcel {
	named := to.String() + ":" + tag
	return &parcel{
		Environment: p.Environment, Repository: to.String(), Tag: tag, Digest: packed.Digest(),
		Reference: strings.TrimPrefix(named, registryScheme) + "@" + packed.Digest(),
		Bytes:     packed.Size(), Objects: p.Objects.Len(), Status: planned,
		at: to, to: named, packed: packed,
	}
}

// How destinations begin.
const (
	registryScheme = "oci://"
	layoutScheme   = "oci-layout:"
)

// destination is a repository of a registry, or a folder.
type destination struct {
	folder     string // empty of a registry
	repository registry.Repository
	tag        string // empty where the command line names none
	replace    bool   // whether another artifact of that tag may go
}

// String is the destination without its tag.
func (d destination) String() string {
	if d.folder != "" {
		return layoutScheme + d.folder
	}
	return registryScheme + d.repository.String()
}

// tagForm is what registries take for a tag. Source: github.com/opencontainers/distribution-spec, spec.md.
var tagForm = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9._-]{0,127}$`) })

func parseDestination(dest string, schemes []string, plainHTTP bool) (d destination, err error) {
	scheme, rest := registryScheme, strings.TrimPrefix(dest, registryScheme)
	if folder, ok := strings.CutPrefix(dest, layoutScheme); ok {
		scheme, rest = layoutScheme, folder
	} else if rest == dest {
		return d, &usageError{fmt.Errorf("destination %q: want one that begins with %s", dest, strings.Join(schemes, " or "))}
	}
	if strings.Contains(rest, "@") && scheme == registryScheme {
		return d, &usageError{fmt.Errorf("destination %q: want a tag, or none: the digest comes of what is published", dest)}
	}
	if at := strings.LastIndex(rest, ":"); at > strings.LastIndex(rest, "/") {
		rest, d.tag = rest[:at], rest[at+1:]
		if !tagForm().MatchString(d.tag) {
			return d, &usageError{fmt.Errorf("destination %q: tag %q: want at most 128 letters, digits, dots, dashes and underscores", dest, d.tag)}
		}
	}
	if scheme == layoutScheme {
		if d.folder = rest; rest == "" {
			return d, &usageError{fmt.Errorf("destination %q: want a folder, as in oci-layout:dist", dest)}
		}
		return d, nil
	}
	if d.repository, err = registry.Named(rest, plainHTTP); err != nil {
		return d, &usageError{fmt.Errorf("destination %q: want a host and a repository of two to 255 characters in lower case, as in oci://quay.io/acme/platform", dest)}
	}
	return d, nil
}

// forPacking is where something goes, and by which tag. What has a name of its own goes below the
// repository; a folder has no repositories, and the name is part of the tag there.
func (d destination) forPacking(p packing) (at destination, tag string, err error) {
	switch {
	case p.below == "":
		return d, cmp.Or(d.tag, p.tag), nil
	case d.tag != "":
		return d, "", &usageError{fmt.Errorf("destination %s:%s: want no tag: that of a chart is its version, which is spec.delivery.helm.version", d, d.tag)}
	case d.folder != "":
		if tag = p.below + "-" + p.tag; !tagForm().MatchString(tag) {
			err = fmt.Errorf("the tag %s would have more than 128 characters", tag)
		}
		return d, tag, err
	}
	d.repository, err = d.repository.Below(p.below)
	return d, p.tag, err
}

// put takes all there. Parcels say what became of them.
func (d destination) put(ctx context.Context, s streams, parcels []*parcel) error {
	if d.folder != "" {
		return d.store(ctx, s, parcels)
	}
	for _, p := range parcels {
		tell, done := progressOn(s.err, p.to)
		pushed, err := p.at.repository.Put(ctx, p.Tag, p.packed, d.replace, tell)
		done()
		if err != nil {
			return advised(err)
		}
		p.tell(pushed)
	}
	return nil
}

// store puts all into a folder, which changes as a whole.
func (d destination) store(ctx context.Context, s streams, parcels []*parcel) error {
	w := &bundles.Writer{Tell: func(note string) { fmt.Fprintf(s.err, "note: %s\n", note) }}
	defer w.Close()
	added := map[string]artifact.Packed{}
	for _, p := range parcels {
		added[p.Tag] = p.packed
	}
	changed, err := w.AddToLayout(ctx, d.folder, added)
	if refused := (*bundles.RefusedError)(nil); errors.As(err, &refused) {
		return &occupiedError{refused}
	}
	if err != nil {
		return err
	}
	for _, p := range parcels {
		p.tell(slices.Contains(changed, p.Tag))
	}
	return nil
}

func (p *parcel) tell(changed bool) {
	p.Status = unchanged
	if changed {
		p.Status = published
	}
}

// progressOn shows on a terminal how far a push is, on a line that goes when it is done.
func progressOn(w io.Writer, what string) (tell registry.Progress, done func()) {
	file, ok := w.(*os.File)
	if !ok || !term.IsTerminal(int(file.Fd())) {
		return func(int64, int64) {}, func() {}
	}
	const empty = "\r\x1b[K" // the line
	tell = func(sent, all int64) { fmt.Fprintf(w, "%spushing %s: %s of %s", empty, what, size(sent), size(all)) }
	return tell, func() { _, _ = io.WriteString(w, empty) } // words are lost without harm
}

// size is a number of bytes for people.
func size(bytes int64) string {
	switch {
	case bytes < 1000:
		return count(int(bytes), "byte")
	case bytes < 1000*1000:
		return fmt.Sprintf("%.1f kB", float64(bytes)/1000)
	default:
		return fmt.Sprintf("%.1f MB", float64(bytes)/1e6)
	}
}
