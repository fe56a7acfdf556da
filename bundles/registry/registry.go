// Package registry publishes artifacts to OCI registries. Package bundles does not import package registry, because
// rendering a bundle must not need a network.
package registry

import (
	"context"
	"errors"
	"fmt"

	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/partial"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/remote/transport"
	"github.com/google/go-containerregistry/pkg/v1/static"
	"github.com/google/go-containerregistry/pkg/v1/types"

	"github.com/trainyard/trainyard/bundles/artifact"
)

// Repository is a place for artifacts in a registry, such as quay.io/acme/platform.
type Repository struct{ name name.Repository }

// Named returns the repository with the given name, such as quay.io/acme/platform. The name must begin with the
// address of the registry. HTTP without TLS is allowed if plainHTTP is true, or if the registry is on this machine
// or in a private network.
func Named(repository string, plainHTTP bool) (Repository, error) {
	options := []name.Option{name.StrictValidation}
	if plainHTTP {
		options = append(options, name.Insecure)
	}
	n, err := name.NewRepository(repository, options...)
	return Repository{n}, err
}

// Below is a method that returns another repository in the same registry. The name of this repository is the name of r,
// followed by a slash and the given path.
func (r Repository) Below(path string) (Repository, error) {
	return Named(r.name.Name()+"/"+path, r.name.Scheme() == "http")
}

// String returns the name.
func (r Repository) String() string { return r.name.Name() }

// Progress is called with the number of bytes that have been sent so far, and the total number of bytes.
type Progress func(sent, all int64)

// TakenError reports that a tag already points to a different artifact. Moving the tag could harm users of the
// artifact to which the tag points.
type TakenError struct{ Tag, Digest string } // Tag includes the repository

// Error returns a message that contains the tag, and the digest of the artifact to which the tag points.
func (t *TakenError) Error() string {
	return t.Tag + " already exists with a different digest: " + t.Digest
}

// Put uploads an artifact, and then points a tag to the artifact. If the tag already points to the artifact, Put does
// nothing, and the result "pushed" is false. If the tag points to a different artifact, the argument "replace"
// decides whether Put moves the tag or returns a *TakenError. Put uses the credentials of docker login or podman
// login. If the registry refuses the credentials or forbids the upload, the error is a *DeniedError. The messages of
// most errors say what the user can do.
func (r Repository) Put(ctx context.Context, tag string, p artifact.Packed, replace bool, progress Progress) (pushed bool, err error) {
	to := r.name.Tag(tag)
	options := []remote.Option{remote.WithContext(ctx), remote.WithAuthFromKeychain(authn.DefaultKeychain), remote.WithUserAgent("trainyard")}
	existing, err := remote.Head(to, options...)
	if err == nil && existing.Digest == p.Manifest.Digest {
		return false, nil
	}
	if err == nil && !replace {
		return false, &TakenError{to.Name(), existing.Digest.String()}
	}
	var response *transport.Error
	if err != nil && !errors.As(err, &response) {
		return false, r.explain(ctx, err) // there was no response, so an upload would fail as well
	}
	image, err := partial.CompressedToImage(image{p})
	if err != nil {
		return false, fmt.Errorf("reading the artifact: %w", err)
	}
	updates, done := make(chan v1.Update, 16), make(chan struct{})
	go func() {
		defer close(done)
		for u := range updates {
			progress(u.Complete, u.Total)
		}
	}()
	err = remote.Write(to, image, append(options, remote.WithProgress(updates))...) // closes the channel
	<-done
	return err == nil, r.explain(ctx, err)
}

// image wraps an artifact, and adds the methods that the library go-containerregistry needs.
type image struct{ artifact.Packed }

var _ partial.CompressedImageCore = image{}

func (i image) RawManifest() ([]byte, error) { return i.Blobs[i.Manifest.Digest].Content, nil }

func (i image) MediaType() (types.MediaType, error) { return i.Manifest.MediaType, nil }

func (i image) RawConfigFile() ([]byte, error) {
	m, err := partial.Manifest(i)
	if err != nil {
		return nil, err
	}
	return i.Blobs[m.Config.Digest].Content, nil
}

func (i image) LayerByDigest(h v1.Hash) (partial.CompressedLayer, error) {
	blob, ok := i.Blobs[h]
	if !ok {
		return nil, fmt.Errorf("the artifact has no %s", h)
	}
	return static.NewLayer(blob.Content, blob.MediaType), nil
}
