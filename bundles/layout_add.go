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

// AddToLayout adds artifacts to an OCI image layout in a folder. The argument "added" maps tags to artifacts.
// Artifacts with other tags stay in the folder. AddToLayout returns the tags that changed. As with any bundle, the
// folder changes as a whole or not at all. AddToLayout refuses a folder with unknown or edited files.
func (w *Writer) AddToLayout(ctx context.Context, dir string, added map[string]artifact.Packed) (changed []string, err error) {
	all, err := w.openLayout(ctx, dir)
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

// openLayout reads the artifacts in a folder, if the folder exists. openLayout locks the parent directory of the folder
// until the Writer is closed. Without the lock, another run could add artifacts after openLayout has read the folder.
// These artifacts would be lost when the Writer then replaces the folder.
func (w *Writer) openLayout(ctx context.Context, dir string) (imageLayout, error) {
	plan, err := w.Plan(ctx, Tree{}, dir)
	if err != nil {
		return nil, err
	}
	if err := plan.Check(); err != nil {
		return nil, err
	}
	if len(plan.Inventory()) > 0 {
		return nil, &RefusedError{Dir: dir, Files: []string{"the bundle of a platform, written by generate"}}
	}
	all, err := readLayout(dir)
	if err != nil {
		return nil, fmt.Errorf("reading the artifacts of %s: %w", dir, rootCause(err))
	}
	return all, nil
}

// readLayout reads the artifacts in a folder. readLayout does not verify the digests of blobs, because openLayout has
// already compared all files with the digests in the manifest.
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
	if err := readBlob(dir, d, p); err != nil {
		return p, err
	}
	m, err := v1.ParseManifest(bytes.NewReader(p.Blobs[d.Digest].Content))
	if err != nil {
		return p, fmt.Errorf("%s: %w", blobFile(d.Digest), err)
	}
	for _, b := range append(m.Layers, m.Config) {
		if err := readBlob(dir, b, p); err != nil {
			return p, err
		}
	}
	return p, nil
}

func readBlob(dir string, d v1.Descriptor, to artifact.Packed) error {
	text, err := os.ReadFile(filepath.Join(dir, blobFile(d.Digest)))
	to.Blobs[d.Digest] = artifact.Blob{MediaType: d.MediaType, Content: text}
	return err
}
