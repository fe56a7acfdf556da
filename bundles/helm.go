package bundles

import (
	"cmp"
	"context"
	"embed"
	"fmt"
	"maps"
	"slices"
	"strings"

	"helm.sh/helm/v3/pkg/chart"
	"sigs.k8s.io/yaml"
)

// helm is a chart whose values are the objects' parameters.
type helm struct{}

var _ Format = helm{}

func (helm) Name() string { return "helm" }
func (helm) Doc() string  { return "a chart, for helm install and for Argo CD" }

// Helm is what a document says of its chart.
type Helm struct {
	Version string `json:"version"` // 0.1.0 by default
}

// What no object is in, but every chart has. CHART and PLATFORM stand for names.
//
//go:embed helm
var helmFiles embed.FS

// helmTexts are where the embedded files go.
var helmTexts = map[string]string{
	"helm/helpers.tpl": "templates/_helpers.tpl",
	"helm/extra.yaml":  "templates/extra.yaml",
	"helm/NOTES.txt":   "templates/NOTES.txt",
	"helm/helmignore":  ".helmignore",
}

// Render writes a template for each concern of the platform, and values that leave all objects as
// they are.
func (helm) Render(ctx context.Context, b Bundle) (Tree, error) {
	c, err := helmChartOf(ctx, b)
	if err != nil {
		return Tree{}, err
	}
	return c.tree()
}

// helmChartOf reads a bundle into a chart.
func helmChartOf(ctx context.Context, b Bundle) (*helmChart, error) {
	c := newHelmChart(b)
	if err := c.addObjects(ctx, b); err != nil {
		return nil, err
	}
	c.bind(b.Delivery.Bounds)
	return c, nil
}

// tree are the chart's files.
func (c *helmChart) tree() (Tree, error) {
	about, err := c.metadata()
	if err != nil {
		return Tree{}, err
	}
	metadata, err := yaml.Marshal(about)
	if err != nil {
		return Tree{}, fmt.Errorf("writing Chart.yaml: %w", err)
	}
	schema, err := c.schema()
	if err != nil {
		return Tree{}, err
	}
	files := []File{
		{Path: "Chart.yaml", Content: Text(metadata)},
		{Path: "values.yaml", Content: Text(c.valuesFile())},
		{Path: "values.schema.json", Content: Text(schema)},
		{Path: "README.md", Content: Text(c.readme())},
	}
	for _, name := range c.components() {
		files = append(files, File{Path: "templates/" + name + ".yaml", Content: c.template(name)})
	}
	if len(c.held) > 0 {
		files = append(files, File{Path: "templates/bounds.yaml", Content: Text(c.bounds())})
	}
	names := strings.NewReplacer("CHART", c.name, "PLATFORM", c.platform)
	for from, to := range helmTexts {
		text, err := helmFiles.ReadFile(from)
		if err != nil {
			return Tree{}, fmt.Errorf("reading %s: %w", from, err)
		}
		files = append(files, File{Path: to, Content: Text([]byte(names.Replace(string(text))))})
	}
	return NewTree(files...)
}

// helmChart is a chart while it is written.
type helmChart struct {
	name, environment, platform string
	version                     string
	target                      Target

	parts  map[string]*helmPart // of the platform, each a template
	values helmValues           // the parameters, as a tree
	sums   []Sum                // what values ask for together
	held   []held               // and what bounds it
	images map[string]bool      // that the chart names
	taken  map[string]map[string]bool

	renderer *renderer
}

// helmPart is one concern of the platform, such as its quotas.
type helmPart struct {
	content Content
	kinds   map[string]int
}

func newHelmChart(b Bundle) *helmChart {
	return &helmChart{
		renderer: newRenderer(),
		name:     b.name(), environment: b.Environment, platform: b.Platform,
		version: cmp.Or(b.Delivery.Helm.Version, "0.1.0"), target: b.Delivery.Target,
		parts: map[string]*helmPart{}, values: helmValues{}, images: map[string]bool{},
		taken: map[string]map[string]bool{"labels": {}, "annotations": {}},
	}
}

// components are the names of the platform's parts.
func (c *helmChart) components() []string { return slices.Sorted(maps.Keys(c.parts)) }

// metadata is what Chart.yaml says, in Helm's own type.
func (c *helmChart) metadata() (*chart.Metadata, error) {
	var images []map[string]string
	for _, image := range slices.Sorted(maps.Keys(c.images)) {
		images = append(images, map[string]string{"name": imageName(image), "image": image})
	}
	m := &chart.Metadata{
		APIVersion: chart.APIVersionV2, Name: c.name, Version: c.version, Type: "application",
		Description: c.description(), AppVersion: c.target.Trainer,
		Keywords:    []string{"mpi", "distributed-training", "kubeflow-trainer"},
		Annotations: map[string]string{"artifacthub.io/category": "ai-machine-learning"},
	}
	if c.target.Kubernetes != "" {
		m.KubeVersion = ">=" + c.target.Kubernetes + ".0-0"
	}
	if len(images) > 0 {
		m.Annotations["artifacthub.io/images"] = string(mustYAML(images))
	}
	if err := m.Validate(); err != nil {
		return nil, fmt.Errorf("writing Chart.yaml: %w", err)
	}
	return m, nil
}

func (c *helmChart) description() string {
	if c.environment == "" {
		return "MPI training on Kubeflow Trainer: the platform " + c.platform
	}
	return fmt.Sprintf("MPI training on Kubeflow Trainer: the platform %s in %s", c.platform, c.environment)
}

// imageName is what an image is called without where it lies and which one of that name it is.
func imageName(image string) string {
	image, _, _ = strings.Cut(image, "@")
	image = image[strings.LastIndex(image, "/")+1:]
	name, _, _ := strings.Cut(image, ":")
	return name
}
