package transform

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"cuelabs.dev/go/oci/ociregistry/ociref"
)

// renamer renames images. The keys of the field "digests" are complete names of images, with registry and tag.
type renamer struct {
	digests map[string]listedDigest
	listed  map[string][]string // images with digests, keyed by repository and written as in the document
	mirrors map[string]string   // by the registry, or folder in a registry, that the mirror replaces
	unused  map[string]bool     // images whose digest no object uses, written as in the document
}

type listedDigest struct{ image, digest string }

// image is an image reference in which all defaults are filled in. For example, nginx becomes docker.io/library/nginx
// with the tag "latest".
type image struct {
	repository, tag string
	digest          bool // whether the reference has a digest
}

func newRenamer(c Changes) *renamer {
	r := &renamer{digests: map[string]listedDigest{}, listed: map[string][]string{}, mirrors: map[string]string{}, unused: map[string]bool{}}
	for _, written := range slices.Sorted(maps.Keys(c.Digests)) {
		known, _ := parse(written) // the schema accepts only valid references
		r.digests[known.name()], r.unused[written] = listedDigest{written, c.Digests[written]}, true
		r.listed[known.repository] = append(r.listed[known.repository], written)
	}
	for from, to := range c.Mirrors {
		r.mirrors[canonicalName(from)] = to
	}
	return r
}

// parse splits an image reference into its parts. Source: the grammar of
// github.com/distribution/reference.
func parse(text string) (image, bool) {
	ref, err := ociref.ParseRelative(text)
	if err != nil {
		return image{}, false
	}
	name := ref.Repository
	switch {
	case ref.Host != "":
		name = canonicalName(ref.Host) + "/" + ref.Repository
	case strings.HasPrefix(name, "localhost/"):
	case strings.Contains(name, "/"):
		name = "docker.io/" + name
	default:
		name = "docker.io/library/" + name
	}
	return image{name, cmp.Or(ref.Tag, "latest"), ref.Digest != ""}, true
}

func (i image) name() string { return i.repository + ":" + i.tag }

// canonicalName returns the name of a registry or of a folder in a registry, with docker.io in place of
// index.docker.io.
func canonicalName(folder string) string {
	if rest, found := strings.CutPrefix(folder, "index.docker.io"); found && (rest == "" || rest[0] == '/') {
		return "docker.io" + rest
	}
	return folder
}

// rename returns the new name of an image. A text that is not an image reference, such as $(IMAGE), stays
// the same.
func (r *renamer) rename(written string) (string, error) {
	known, ok := parse(written)
	if !ok {
		return written, nil
	}
	moved := r.useMirror(written, known)
	if known.digest {
		return moved, nil
	}
	target, _ := parse(moved)
	for _, i := range []image{known, target} {
		if listed, ok := r.digests[i.name()]; ok {
			delete(r.unused, listed.image)
			return repository(moved) + "@" + listed.digest, nil
		}
	}
	for _, i := range []image{known, target} {
		if others := r.listed[i.repository]; len(others) > 0 {
			return written, fmt.Errorf("image %s has no digest: for this repository, spec.images.digests of the Transformer contains only %s; add this image with its digest", written, strings.Join(others, ", "))
		}
	}
	return moved, nil
}

// useMirror replaces a prefix of an image reference by the mirror of this prefix, and returns the new image reference.
// A prefix is a registry, such as docker.io, or a folder in a registry, such as docker.io/library. If several prefixes
// of the image have a mirror, useMirror replaces only the longest prefix. An image that is already in a mirror stays
// the same.
func (r *renamer) useMirror(written string, known image) string {
	longest := ""
	for from, to := range r.mirrors {
		if strings.HasPrefix(known.repository, canonicalName(to)+"/") {
			return written
		}
		if strings.HasPrefix(known.repository, from+"/") && len(from) > len(longest) {
			longest = from
		}
	}
	if longest == "" {
		return written
	}
	return r.mirrors[longest] + strings.TrimPrefix(known.repository, longest) + strings.TrimPrefix(written, repository(written))
}

func repository(written string) string {
	written, _, _ = strings.Cut(written, "@")
	if tag := strings.LastIndex(written, ":"); tag > strings.LastIndex(written, "/") {
		return written[:tag]
	}
	return written
}
