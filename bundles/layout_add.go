package bundles

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"

	v1 "github.com/google/go-containerregistry/pkg/v1"

	"github.com/trainyard/trainyard/bundles/artifact"
)

// AddToLayout puts artifacts into a folder that is an OCI image layout, by tag, and leaves those of other tags there. It returns the
// tags that did not hold the same before. As with any bundle, the folder changes as a whole or not at all, and what is not ours is refused.
func (w *Writer) AddToLayout(ctx context.Context, dir string, added map[string]artifact.Packed) (changed []string, err error) {
	all, err := w.layoutOf(ctx, dir)
	if err != nil {
		return nil, err
	}
	for _, tag := range slices.Sorted(maps.Keys(added)) {
		if all[tag].Manifest.Digest != added[tag].Manifest.Digest {
			changed = append(changed, tag)
		}
		all[tag] = added[tag]
	}
	tree, err := all.tree()
	if err != nil {
		return nil, err
	}
	plan, err := w.Plan(ctx, tree, dir)
	if err != nil {
		return nil, err
	}
	_, err = plan.Write(ctx)
	return changed, err
}

// layoutOf reads the artifacts of a folder that AddToLayout wrote, or none. From then on other runs wait: what they
// add meanwhile would be lost.
func (w *Writer) layoutOf(ctx context.Context, dir string) (imageLayout, error) {
	plan, err := w.Plan(ctx, Tree{}, dir)
	if err != nil {
		return nil, err
	}
	if err := plan.Check(); err != nil {
		return nil, err
	}
	if len(ReadInventory(plan.Manifest())) > 0 {
		return nil, &RefusedError{Dir: dir, Files: []string{"those of a platform (generate writes them there)"}}
	}
	all, err := readLayout(dir)
	if err != nil {
		return nil, fmt.Errorf("reading the artifacts of %s: %w", dir, reason(err))
	}
	return all, nil
}

// readLayout reads artifacts whose digests are known to be right.
func readLayout(dir string) (imageLayout, error) {
	all := imageLayout{}
	text, err := os.ReadFile(filepath.Join(dir, indexFile))
	if errors.Is(err, fs.ErrNotExist) {
		return all, nil
	}
	if err != nil {
		return nil, err
	}
	index, err := v1.ParseIndexManifest(bytes.NewReader(text))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", indexFile, err)
	}
	for _, d := range index.Manifests {
		if all[d.Annotations[tagAnnotation]], err = readArtifact(dir, d); err != nil {
			return nil, err
		}
	}
	return all, nil
}

func readArtifact(dir string, d v1.Descriptor) (artifact.Packed, error) {
	d.Annotations = nil
	p := artifact.Packed{Manifest: d, Blobs: map[v1.Hash]artifact.Blob{}}
	text, err := os.ReadFile(filepath.Join(dir, blobFile(d.Digest)))
	if err != nil {
		return p, err
	}
	p.Blobs[d.Digest] = artifact.Blob{MediaType: d.MediaType, Content: text}
	m, err := v1.ParseManifest(bytes.NewReader(text))
	if err != nil {
		return p, fmt.Errorf("%s: %w", blobFile(d.Digest), err)
	}
	for _, b := range append(m.Layers, m.Config) {
		text, err := os.ReadFile(filepath.Join(dir, blobFile(b.Digest)))
		if err != nil {
			return p, err
		}
		p.Blobs[b.Digest] = artifact.Blob{MediaType: b.MediaType, Content: text}
	}
	return p, nil
}
