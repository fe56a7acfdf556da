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

const (
	planned   = "planned" // the artifact is not uploaded yet, or --dry-run is set
	published = "published"
	unchanged = "unchanged" // the destination already has the same artifact
)

var verbs = map[string]string{published: "now holds", unchanged: "is up to date and holds"}

type upload struct {
	Environment string `json:"environment,omitempty"`
	Reference   string `json:"reference"`  // repository, tag and digest
	Repository  string `json:"repository"` // as in DEST
	Tag         string `json:"tag"`
	Digest      string `json:"digest"`
	Bytes       int64  `json:"bytes"` // of all blobs
	Objects     int    `json:"objects"`
	Status      string `json:"status"`

	to     destination
	name   string // repository and tag, for messages
	packed artifact.Packed
}

func newUpload(to destination, p generator.Platform, tag string, packed artifact.Packed) *upload {
	name := to.String() + ":" + tag
	return &upload{
		Environment: p.Environment, Repository: to.String(), Tag: tag, Digest: packed.Digest(),
		Reference: strings.TrimPrefix(name, registryScheme) + "@" + packed.Digest(),
		Bytes:     packed.Size(), Objects: p.Objects.Len(), Status: planned,
		to: to, name: name, packed: packed,
	}
}

func (u *upload) setStatus(changed bool) {
	u.Status = unchanged
	if changed {
		u.Status = published
	}
}

const (
	registryScheme = "oci://"
	layoutScheme   = "oci-layout:"
)

// destination is a repository of a registry, or a folder with an OCI image layout.
type destination struct {
	folder     string // empty for a registry
	repository registry.Repository
	tag        string // empty if DEST contains no tag
	replace    bool   // whether an existing tag may move to another artifact
}

// String returns the destination without its tag.
func (d destination) String() string {
	if d.folder != "" {
		return layoutScheme + d.folder
	}
	return registryScheme + d.repository.String()
}

// tagPattern matches the tags that registries accept. Source: github.com/opencontainers/distribution-spec, spec.md.
var tagPattern = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9._-]{0,127}$`) })

func parseDestination(dest string, schemes []string, plainHTTP bool) (d destination, err error) {
	scheme, rest := registryScheme, strings.TrimPrefix(dest, registryScheme)
	if folder, ok := strings.CutPrefix(dest, layoutScheme); ok {
		scheme, rest = layoutScheme, folder
	} else if rest == dest {
		return d, usageErrorf("destination %q: want the prefix %s", dest, strings.Join(schemes, " or "))
	}
	if strings.Contains(rest, "@") && scheme == registryScheme {
		return d, usageErrorf("destination %q: want no digest, because the content determines the digest: replace the digest with a tag, or leave it out", dest)
	}
	if colon := strings.LastIndex(rest, ":"); colon > strings.LastIndex(rest, "/") {
		rest, d.tag = rest[:colon], rest[colon+1:]
		if !tagPattern().MatchString(d.tag) {
			return d, usageErrorf("destination %q: tag %q: want at most 128 letters, digits, dots, dashes and underscores", dest, d.tag)
		}
	}
	if scheme == layoutScheme {
		if d.folder = rest; rest == "" {
			return d, usageErrorf("destination %q: want a folder, as in oci-layout:dist", dest)
		}
		return d, nil
	}
	if d.repository, err = registry.Named(rest, plainHTTP); err != nil {
		return d, usageErrorf("destination %q: want a host and a repository of 2 to 255 lower-case characters, as in oci://quay.io/acme/platform", dest)
	}
	return d, nil
}

// forArtifact returns the destination and the tag of an artifact. Some artifacts have a subrepository. For example, the
// subrepository of a chart is the name of the chart. If the destination is a registry, the subrepository is appended to
// the name of the repository. If the destination is a folder, there are no repositories, so the subrepository becomes
// the first part of the artifact's tag.
func (d destination) forArtifact(a namedArtifact) (to destination, tag string, err error) {
	switch {
	case a.subrepository == "":
		return d, cmp.Or(d.tag, a.tag), nil
	case d.tag != "":
		return d, "", usageErrorf("destination %s:%s: want no tag, because the tag of a chart is its version: leave the tag out, and set spec.delivery.helm.version", d, d.tag)
	case d.folder != "":
		if tag = a.subrepository + "-" + a.tag; !tagPattern().MatchString(tag) {
			err = fmt.Errorf("tag %s: want at most 128 characters", tag)
		}
		return d, tag, err
	}
	d.repository, err = d.repository.Below(a.subrepository)
	return d, a.tag, err
}

func (d destination) upload(ctx context.Context, s streams, uploads []*upload) error {
	if d.folder != "" {
		return d.writeLayout(ctx, s, uploads)
	}
	for _, u := range uploads {
		progress, done := showProgress(s.err, u.name)
		pushed, err := u.to.repository.Put(ctx, u.Tag, u.packed, d.replace, progress)
		done()
		if err != nil {
			return withForceHint(err)
		}
		u.setStatus(pushed)
	}
	return nil
}

// writeLayout writes all artifacts in one step to a folder with an OCI image layout.
func (d destination) writeLayout(ctx context.Context, s streams, uploads []*upload) error {
	w := &bundles.Writer{Note: s.note}
	defer w.Close()
	added := map[string]artifact.Packed{}
	for _, u := range uploads {
		added[u.Tag] = u.packed
	}
	changed, err := w.AddToLayout(ctx, d.folder, added)
	if refused := (*bundles.RefusedError)(nil); errors.As(err, &refused) {
		return exitErrorf(exitRefused, "%w: publish to a new folder, or to a folder that contains only published artifacts", refused)
	}
	if err != nil {
		return err
	}
	for _, u := range uploads {
		u.setStatus(slices.Contains(changed, u.Tag))
	}
	return nil
}

// showProgress shows the progress of an upload on one line of a terminal. The returned function "done" erases the
// progress line.
func showProgress(w io.Writer, name string) (progress registry.Progress, done func()) {
	file, ok := w.(*os.File)
	if !ok || !term.IsTerminal(int(file.Fd())) {
		return func(int64, int64) {}, func() {}
	}
	const eraseLine = "\r\x1b[K"
	progress = func(sent, all int64) {
		fmt.Fprintf(w, "%spushing %s: %s of %s", eraseLine, name, size(sent), size(all))
	}
	return progress, func() { fmt.Fprintf(w, "%s", eraseLine) }
}

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
