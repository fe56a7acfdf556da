package upstream

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"path/filepath"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/yaml"
)

// Manifests contains the CRDs and the webhook configurations of an upstream project. Manifests contains no
// Deployments, Services or RBAC objects, because each manager runs as a local process with the rights of an
// administrator.
type Manifests struct {
	CRDs       []*apiextensionsv1.CustomResourceDefinition
	mutating   []*admissionv1.MutatingWebhookConfiguration
	validating []*admissionv1.ValidatingWebhookConfiguration
}

// Manifests builds the manifests of a manager with kustomize, and returns them.
func (t Toolbox) Manifests(m Manager) (Manifests, error) {
	var read Manifests
	dir, err := t.Module(m.module)
	if err != nil {
		return read, err
	}
	for _, folder := range m.folders {
		stream, err := commandOutput(exec.Command(t.Path("kustomize"), "build", filepath.Join(dir, folder)))
		if err != nil {
			return read, fmt.Errorf("building %s: %w", folder, err)
		}
		if err := EachDocument(stream, read.add); err != nil {
			return read, fmt.Errorf("reading %s: %w", folder, err)
		}
	}
	return read, nil
}

// add(document) reads one document of a YAML stream. If the document is a CRD or a webhook configuration, the object is
// appended to the list for its kind. Documents of all other kinds are ignored.
func (m *Manifests) add(document []byte) error {
	var meta metav1.TypeMeta
	if err := yaml.Unmarshal(document, &meta); err != nil {
		return err
	}
	switch meta.Kind {
	case "CustomResourceDefinition":
		return addTo(&m.CRDs, document)
	case "MutatingWebhookConfiguration":
		return addTo(&m.mutating, document)
	case "ValidatingWebhookConfiguration":
		return addTo(&m.validating, document)
	}
	return nil
}

// addTo decodes a document and appends it to a list.
func addTo[T any](list *[]*T, document []byte) error {
	object := new(T)
	if err := yaml.UnmarshalStrict(document, object); err != nil {
		return err
	}
	*list = append(*list, object)
	return nil
}

// EachDocument calls the function "do" for every non-empty document of a YAML stream.
func EachDocument(stream []byte, do func([]byte) error) error {
	reader := utilyaml.NewYAMLReader(bufio.NewReader(bytes.NewReader(stream)))
	for {
		document, err := reader.Read()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if len(bytes.TrimSpace(document)) == 0 {
			continue
		}
		if err := do(document); err != nil {
			return err
		}
	}
}
