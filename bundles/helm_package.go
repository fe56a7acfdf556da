package bundles

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/google/go-containerregistry/pkg/v1/types"

	"github.com/trainyard/trainyard/bundles/artifact"
)

// Media types for the configuration and for the archive of a Helm chart in an OCI registry. Source: the page "Use
// OCI-based registries" of Helm's documentation.
const (
	helmConfigType = types.MediaType("application/vnd.cncf.helm.config.v1+json")
	helmChartType  = types.MediaType("application/vnd.cncf.helm.chart.content.v1.tar+gzip")
)

// HelmPackage is a chart that is packed into one file.
type HelmPackage struct {
	Name, Version string
	Archive       []byte // a file like the output of helm package, but with the same bytes each time
	Artifact      artifact.Artifact
}

// PackHelm packs the chart of a bundle. The artifact has the annotations of the bundle and the annotations in the
// parameter "annotations". If both contain the same key, the parameter takes precedence. However, PackHelm always sets
// org.opencontainers.image.title to the name of the chart, and org.opencontainers.image.version to the version of the
// chart.
func PackHelm(ctx context.Context, b Bundle, annotations map[string]string) (p HelmPackage, err error) {
	c, err := newHelmChart(ctx, b)
	if err != nil {
		return p, err
	}
	tree, err := c.tree()
	if err != nil {
		return p, err
	}
	p = HelmPackage{Name: c.uniqueName(), Version: c.version}
	if p.Archive, err = artifact.Archive(entries(tree.Files(), c.uniqueName()+"/")); err != nil {
		return p, err
	}
	metadata, err := c.metadata()
	if err != nil {
		return p, err
	}
	config, err := json.Marshal(metadata)
	if err != nil {
		return p, fmt.Errorf("writing the configuration of a chart: %w", err)
	}
	all := b.mergeAnnotations(annotations)
	all["org.opencontainers.image.title"], all["org.opencontainers.image.version"] = p.Name, p.Version
	p.Artifact = artifact.Artifact{
		Config:      artifact.Blob{MediaType: helmConfigType, Content: config},
		Layers:      []artifact.Blob{{MediaType: helmChartType, Content: p.Archive}},
		Annotations: all,
	}
	return p, nil
}
