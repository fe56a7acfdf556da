package bundles

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"io"
	"path"
	"slices"
	"strconv"

	"sigs.k8s.io/yaml"

	"github.com/trainyard/trainyard/api/v1alpha1"
	"github.com/trainyard/trainyard/bundles/artifact"
	"github.com/trainyard/trainyard/generator/object"
)

// olmPayload is the format for OLM bundles. OLM refuses most kinds of objects that a platform contains, but it accepts
// ConfigMaps. Therefore an OLM bundle contains the objects in ConfigMaps, and trainyard's operator applies the
// objects, see docs/olm.md.
type olmPayload struct{}

var (
	_ Format = olmPayload{}
	_ Binary = olmPayload{}
)

func (olmPayload) Name() string { return "olm-payload" }
func (olmPayload) Doc() string {
	return "ConfigMaps with the objects for an OLM bundle, for trainyard's operator"
}
func (olmPayload) binary() {}

const (
	payloadPart    = v1alpha1.PayloadLabel // the number of the part, from 1
	payloadParts   = v1alpha1.PayloadPartsAnnotation
	payloadDigest  = v1alpha1.PayloadDigestAnnotation
	payloadObjects = v1alpha1.PayloadObjectsAnnotation
	payloadKey     = "objects.yaml.gz"

	// payloadSize is the maximum size of each part into which the compressed objects are divided. The ConfigMap that
	// contains a part must be smaller than 1 MiB, because Kubernetes accepts no larger objects. The ConfigMap
	// contains the compressed part as base64, which makes the part one third larger.
	payloadSize = 512 << 10 // bytes
)

// Limits of an OLM bundle. OLM compresses each file, and encodes the compressed file as base64. The constant olmBundle
// is the maximum total size of the encoded files. The constant olmOperator is the part of this size that is reserved
// for the operator's own manifests. Source: github.com/operator-framework/operator-registry, pkg/configmap.
const (
	olmBundle   = 1 << 20 // bytes
	olmOperator = olmBundle * 15 / 100
)

// manifestsFolder is the folder that OLM reads. OLM does not read the subfolders of manifestsFolder. Therefore all
// files of the bundle are directly in manifestsFolder.
const manifestsFolder = "manifests"

// Render returns a separate file for each object whose kind is in spec.delivery.olm.manifests. Render
// compresses all other objects as one stream, divides the stream into parts, and returns one
// ConfigMap for each part.
func (olmPayload) Render(ctx context.Context, b Bundle) (Tree, error) {
	isManifest := func(o object.Object) bool { return slices.Contains(b.Delivery.OLM.Manifests, o.ID().Kind) }
	var files []File
	r := newRenderer()
	for o := range b.Objects.Select(isManifest).All() {
		files = append(files, File{Path: path.Join(manifestsFolder, path.Base(objectFile(o))), Content: r.text(o)})
	}
	payload, err := b.buildPayload(ctx, b.Objects.Select(func(o object.Object) bool { return !isManifest(o) }))
	if err != nil {
		return Tree{}, err
	}
	files = append(files, payload...)
	if err := checkSize(files); err != nil {
		return Tree{}, err
	}
	return NewTree(files...)
}

// buildPayload returns the ConfigMaps that contain the objects. All objects are compressed as one stream, and each
// ConfigMap contains a part of this stream.
func (b Bundle) buildPayload(ctx context.Context, set object.Set) ([]File, error) {
	stream, err := artifact.Gzip(func(w io.Writer) error { return plain{}.Stream(ctx, w, set) })
	if err != nil {
		return nil, fmt.Errorf("compressing the objects: %w", err)
	}
	annotations := map[string]string{
		payloadDigest:  fmt.Sprintf("sha256:%x", sha256.Sum256(stream)),
		payloadObjects: strconv.Itoa(set.Len()),
		payloadParts:   strconv.Itoa((len(stream) + payloadSize - 1) / payloadSize),
	}
	var files []File
	for part := range slices.Chunk(stream, payloadSize) {
		number := strconv.Itoa(len(files) + 1)
		name := "trainyard-payload-" + b.uniqueName() + "-" + number
		metadata := fields{"name": name, "labels": b.payloadLabels(number), "annotations": annotations}
		text, err := yaml.Marshal(newObject("v1", "ConfigMap", metadata, fields{"binaryData": map[string][]byte{payloadKey: part}}))
		if err != nil {
			return nil, fmt.Errorf("writing the ConfigMap %s: %w", name, err)
		}
		files = append(files, File{Path: path.Join(manifestsFolder, "configmap-"+name+".yaml"), Content: Text(text)})
	}
	return files, nil
}

func (b Bundle) payloadLabels(part string) map[string]string {
	labels := map[string]string{payloadPart: part, v1alpha1.ManagedByLabel: v1alpha1.ManagedBy, v1alpha1.PlatformLabel: b.Platform}
	if b.Environment != "" {
		labels[v1alpha1.EnvironmentKey] = b.Environment
	}
	return labels
}

// checkSize returns an error if the files leave too little space in an OLM bundle for the operator's own manifests.
func checkSize(files []File) error {
	size := 0
	for _, f := range files {
		compressed, err := artifact.Gzip(func(w io.Writer) error {
			_, err := f.Content.WriteTo(w)
			return err
		})
		if err != nil {
			return fmt.Errorf("compressing %s: %w", f.Path, err)
		}
		size += base64.StdEncoding.EncodedLen(len(compressed))
	}
	if size <= olmBundle-olmOperator {
		return nil
	}
	return &MissingError{"spec", fmt.Sprintf("the objects need %d KiB, but an OLM bundle holds at most %d KiB, of which %d KiB are reserved for the operator's own manifests: "+
		"deliver the objects with Argo CD or Flux, or split the platform into several", size>>10, olmBundle>>10, olmOperator>>10)}
}
