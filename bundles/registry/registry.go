// Package registry takes artifacts to OCI registries. It stands apart from the formats, because
// only who publishes needs it.
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

// Repository is where a registry keeps the artifacts of one name.
type Repository struct{ name name.Repository }

// Named returns the repository of a name such as quay.io/acme/platform. It must say which registry. Registries on
// this machine and in private networks are asked without TLS where they do not speak it; plainHTTP allows that of any.
func Named(repository string, plainHTTP bool) (Repository, error) {
	options := []name.Option{name.StrictValidation}
	if plainHTTP {
		options = append(options, name.Insecure)
	}
	n, err := name.NewRepository(repository, options...)
	return Repository{n}, err
}

// Below returns the repository of a name below this one.
func (r Repository) Below(below string) (Repository, error) {
	options := []name.Option{name.StrictValidation}
	if r.name.Scheme() == "http" {
		options = append(options, name.Insecure)
	}
	n, err := name.NewRepository(r.name.Name()+"/"+below, options...)
	return Repository{n}, err
}

// String is the name.
func (r Repository) String() string { return r.name.Name() }

// Progress hears how many bytes of all have been sent.
type Progress func(sent, all int64)

// TakenError says that a tag is another artifact, which somebody may rely on.
type TakenError struct{ Tag, Digest string } // the tag with its repository

// Error names the artifact.
func (t *TakenError) Error() string { return t.Tag + " is there already, and is another: " + t.Digest }

// Put makes a tag be an artifact. One that is so already is left alone, and pushed is false; one that is another is replaced, or with
// replace false is a *TakenError. Credentials are those that docker login
// or podman login left; an error says what a person can do, and is a *DeniedError if the registry refuses them.
func (r Repository) Put(ctx context.Context, tag string, p artifact.Packed, replace bool, tell Progress) (pushed bool, err error) {
	to := r.name.Tag(tag)
	options := []remote.Option{remote.WithContext(ctx), remote.WithAuthFromKeychain(authn.DefaultKeychain), remote.WithUserAgent("trainyard")}
	there, err := remote.Head(to, options...)
	if err == nil && there.Digest == p.Manifest.Digest {
		return false, nil
	}
	if err == nil && !replace {
		return false, &TakenError{to.Name(), there.Digest.String()}
	}
	var answer *transport.Error
	if err != nil && !errors.As(err, &answer) {
		return false, r.explain(ctx, err) // nobody answers, so nobody would take anything
	}
	image, err := partial.CompressedToImage(image{p})
	if err != nil {
		return false, fmt.Errorf("reading the artifact: %w", err)
	}
	updates := make(chan v1.Update, 16)
	heard := make(chan struct{})
	go func() {
		defer close(heard)
		for u := range updates {
			tell(u.Complete, u.Total)
		}
	}()
	err = remote.Write(to, image, append(options, remote.WithProgress(updates))...) // closes the channel
	<-heard
	return err == nil, r.explain(ctx, err)
}

// image is an artifact as the library wants it.
type image struct{ artifact.Packed }

var _ partial.CompressedImageCore = image{}

// RawManifest implements partial.CompressedImageCore.
func (i image) RawManifest() ([]byte, error) { return i.Blobs[i.Manifest.Digest].Content, nil }

// MediaType implements partial.CompressedImageCore.
func (i image) MediaType() (types.MediaType, error) { return i.Manifest.MediaType, nil }

// RawConfigFile implements partial.CompressedImageCore.
func (i image) RawConfigFile() ([]byte, error) {
	m, err := partial.Manifest(i)
	if err != nil {
		return nil, err
	}
	return i.Blobs[m.Config.Digest].Content, nil
}

// LayerByDigest implements partial.CompressedImageCore.
func (i image) LayerByDigest(h v1.Hash) (partial.CompressedLayer, error) {
	blob, ok := i.Blobs[h]
	if !ok {
		return nil, fmt.Errorf("the artifact has no %s", h)
	}
	return static.NewLayer(blob.Content, blob.MediaType), nil
}
