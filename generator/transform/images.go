package transform

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"cuelabs.dev/go/oci/ociregistry/ociref"
)

// pins say how images are to be named. Their keys are names as registries know them.
type pins struct {
	digests map[string]pinned
	listed  map[string][]string // images with digests as the document writes them, by repository
	mirrors map[string]string   // by registry or folder
	unused  map[string]bool     // images as the document writes them
}

// pinned is an image with a digest.
type pinned struct{ written, digest string }

// image is what a reference is to registries: nginx is docker.io/library/nginx, and the tag latest.
type image struct {
	repository, tag string
	digest          bool // whether it names one
}

func newPins(c Changes) *pins {
	p := &pins{digests: map[string]pinned{}, listed: map[string][]string{}, mirrors: map[string]string{}, unused: map[string]bool{}}
	for _, written := range slices.Sorted(maps.Keys(c.Digests)) {
		known, _ := read(written) // the schema takes nothing else
		p.digests[known.name()], p.unused[written] = pinned{written, c.Digests[written]}, true
		p.listed[known.repository] = append(p.listed[known.repository], written)
	}
	for from, to := range c.Mirrors {
		p.mirrors[folder(from)] = to
	}
	return p
}

// read reads a reference. Source: the grammar of github.com/distribution/reference.
func read(text string) (image, bool) {
	ref, err := ociref.ParseRelative(text)
	if err != nil {
		return image{}, false
	}
	name := ref.Repository
	switch {
	case ref.Host != "":
		name = folder(ref.Host) + "/" + ref.Repository
	case strings.HasPrefix(name, "localhost/"):
	case strings.Contains(name, "/"):
		name = "docker.io/" + name
	default:
		name = "docker.io/library/" + name
	}
	if ref.Tag == "" {
		ref.Tag = "latest"
	}
	return image{name, ref.Tag, ref.Digest != ""}, true
}

func (i image) name() string { return i.repository + ":" + i.tag }

// folder is a registry, or a folder of one, by the name that Docker Hub has here.
func folder(written string) string {
	host, rest, below := strings.Cut(written, "/")
	if host == "index.docker.io" {
		host = "docker.io"
	}
	if !below {
		return host
	}
	return host + "/" + rest
}

// rename is the name that an image gets. What is no image, such as one that is still to be filled
// in, keeps its name.
func (p *pins) rename(written string) (string, error) {
	known, ok := read(written)
	if !ok {
		return written, nil
	}
	moved := p.mirrored(written, known)
	if known.digest {
		return moved, nil
	}
	there, _ := read(moved)
	for _, i := range []image{known, there} {
		if pin, ok := p.digests[i.name()]; ok {
			delete(p.unused, pin.written)
			return repository(moved) + "@" + pin.digest, nil
		}
	}
	for _, i := range []image{known, there} {
		if others := p.listed[i.repository]; len(others) > 0 {
			return written, fmt.Errorf("%s has no digest: spec.images.digests of the Transformer has %s", written, strings.Join(others, ", "))
		}
	}
	return moved, nil
}

// mirrored puts a mirror in the place of the longest folder that is mirrored. What lies in a mirror
// stays there.
func (p *pins) mirrored(written string, known image) string {
	longest := ""
	for from, to := range p.mirrors {
		if strings.HasPrefix(known.repository, folder(to)+"/") {
			return written
		}
		if strings.HasPrefix(known.repository, from+"/") && len(from) > len(longest) {
			longest = from
		}
	}
	if longest == "" {
		return written
	}
	return p.mirrors[longest] + strings.TrimPrefix(known.repository, longest) + strings.TrimPrefix(written, repository(written))
}

// repository is a reference without its tag and its digest.
func repository(written string) string {
	written, _, _ = strings.Cut(written, "@")
	if tag := strings.LastIndex(written, ":"); tag > strings.LastIndex(written, "/") {
		return written[:tag]
	}
	return written
}
