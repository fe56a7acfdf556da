package bundles

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/google/go-containerregistry/pkg/v1/types"

	"github.com/trainyard/trainyard/bundles/artifact"
)

// What registries know charts by. Source: Helm, registries, "OCI feature deprecation and behavior changes with v3.8.0".
const (
	helmConfigType = types.MediaType("application/vnd.cncf.helm.config.v1+json")
	helmChartType  = types.MediaType("application/vnd.cncf.helm.chart.content.v1.tar+gzip")
)

// HelmPackage is a chart in one file.
type HelmPackage struct {
	Name, Version string
	Archive       []byte // what helm package makes, but with the same bytes each time
	Artifact      artifact.Artifact
}

// PackHelm packs the chart of a bundle. Annotations are laid over those of the artifact, but for its name and version, by which
// Helm finds it.
func PackHelm(ctx context.Context, b Bundle, annotations map[string]string) (p HelmPackage, err error) {
	c, err := helmChartOf(ctx, b)
	if err != nil {
		return p, err
	}
	tree, err := c.tree()
	if err != nil {
		return p, err
	}
	var entries []artifact.Entry
	for _, f := range tree.Files() {
		entries = append(entries, artifact.Entry{Path: c.name + "/" + f.Path, Content: f.Content})
	}
	p = HelmPackage{Name: c.name, Version: c.version}
	if p.Archive, err = artifact.Archive(entries); err != nil {
		return p, err
	}
	about, err := c.metadata()
	if err != nil {
		return p, err
	}
	config, err := json.Marshal(about)
	if err != nil {
		return p, fmt.Errorf("writing the configuration of a chart: %w", err)
	}
	all := b.annotations(annotations)
	all["org.opencontainers.image.title"], all["org.opencontainers.image.version"] = c.name, c.version
	p.Artifact = artifact.Artifact{
		Config:      artifact.Blob{MediaType: helmConfigType, Content: config},
		Layers:      []artifact.Blob{{MediaType: helmChartType, Content: p.Archive}},
		Annotations: all,
	}
	return p, nil
}
