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

	"github.com/trainyard/trainyard/bundles/artifact"
	"github.com/trainyard/trainyard/generator/object"
)

// olmPayload is objects in ConfigMaps, which OLM takes where it refuses the objects themselves: trainyard's
// operator applies them. docs/olm.md says how it reads them.
type olmPayload struct{}

var (
	_ Format = olmPayload{}
	_ Binary = olmPayload{}
)

func (olmPayload) Name() string { return "olm-payload" }
func (olmPayload) Doc() string {
	return "ConfigMaps that bring the objects along in an OLM bundle, for trainyard's operator"
}
func (olmPayload) binary() {}

// OLM is what a document says of bundles for OLM.
type OLM struct {
	Manifests []string `json:"manifests"` // kinds of objects that stand in the bundle themselves
}

// What payloads are known by, and how much of one is in a ConfigMap.
const (
	payloadPart    = "trainyard.dev/payload" // which of them, from 1
	payloadParts   = "trainyard.dev/payload-parts"
	payloadDigest  = "trainyard.dev/payload-digest"
	payloadObjects = "trainyard.dev/payload-objects"
	payloadKey     = "objects.yaml.gz"

	// An object can have 1 MiB, and etcd takes 1.5 MiB of what is by then text, and a third longer.
	payloadSize = 512 << 10 // bytes
)

// Limits of a bundle, as OLM counts it: each file compressed, and as text. The operator's own manifests need some, too.
// Source: github.com/operator-framework/operator-registry, pkg/configmap.
const (
	olmBundle   = 1 << 20 // bytes
	olmOperator = olmBundle * 15 / 100
)

// manifestsFolder is the one that OLM reads, without what is in folders there.
const manifestsFolder = "manifests"

// Render writes ConfigMaps and, of kinds that the document names, the objects themselves.
func (olmPayload) Render(ctx context.Context, b Bundle) (Tree, error) {
	apart := func(o object.Object) bool { return slices.Contains(b.Delivery.OLM.Manifests, o.ID().Kind) }
	var files []File
	r := newRenderer()
	for o := range b.Objects.Select(apart).All() {
		files = append(files, File{Path: path.Join(manifestsFolder, path.Base(fileOf(o))), Content: r.text(o)})
	}
	payload, err := b.payload(ctx, b.Objects.Select(func(o object.Object) bool { return !apart(o) }))
	if err != nil {
		return Tree{}, err
	}
	files = append(files, payload...)
	if err := expectRoom(files); err != nil {
		return Tree{}, err
	}
	return NewTree(files...)
}

// payload is the ConfigMaps, each with a part of one compressed stream of objects.
func (b Bundle) payload(ctx context.Context, set object.Set) ([]File, error) {
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
		name := "trainyard-payload-" + b.name() + "-" + number
		text, err := yaml.Marshal(configMap{
			APIVersion: "v1", Kind: "ConfigMap",
			Metadata:   configMapMetadata{Name: name, Labels: b.payloadLabels(number), Annotations: annotations},
			BinaryData: map[string][]byte{payloadKey: part},
		})
		if err != nil {
			return nil, fmt.Errorf("writing the ConfigMap %s: %w", name, err)
		}
		files = append(files, File{Path: path.Join(manifestsFolder, "configmap-"+name+".yaml"), Content: Text(text)})
	}
	return files, nil
}

// configMap is the part of a ConfigMap that we write.
type configMap struct {
	APIVersion string            `json:"apiVersion"`
	Kind       string            `json:"kind"`
	Metadata   configMapMetadata `json:"metadata"`
	BinaryData map[string][]byte `json:"binaryData"`
}

type configMapMetadata struct {
	Name        string            `json:"name"`
	Labels      map[string]string `json:"labels"`
	Annotations map[string]string `json:"annotations"`
}

func (b Bundle) payloadLabels(part string) map[string]string {
	labels := map[string]string{payloadPart: part, "app.kubernetes.io/managed-by": "trainyard", "trainyard.dev/platform": b.Platform}
	if b.Environment != "" {
		labels["trainyard.dev/environment"] = b.Environment
	}
	return labels
}

// expectRoom refuses files that no bundle of OLM holds.
func expectRoom(files []File) error {
	taken := 0
	for _, f := range files {
		compressed, err := artifact.Gzip(func(w io.Writer) error {
			_, err := f.Content.WriteTo(w)
			return err
		})
		if err != nil {
			return fmt.Errorf("compressing %s: %w", f.Path, err)
		}
		taken += base64.StdEncoding.EncodedLen(len(compressed))
	}
	if taken <= olmBundle-olmOperator {
		return nil
	}
	return &MissingError{"spec", fmt.Sprintf("the objects take %d KiB of a bundle for OLM, which holds %d and %d of the operator: "+
		"have Argo CD or Flux deliver them, or fewer in each of several platforms", taken>>10, olmBundle>>10, olmOperator>>10)}
}
