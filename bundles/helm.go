package bundles

import (
	"cmp"
	"context"
	"embed"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"helm.sh/helm/v3/pkg/chart"
	"sigs.k8s.io/yaml"

	"github.com/trainyard/trainyard/api/v1alpha1"
	"github.com/trainyard/trainyard/generator/object"
)

// helm is the format "helm", in which a bundle is a Helm chart. Parameters become values of the chart. A parameter is a
// scalar in an object. Its value is copied or computed from a field of the document.
type helm struct{}

var _ Format = helm{}

func (helm) Name() string { return "helm" }
func (helm) Doc() string  { return "a chart, for helm install and for Argo CD" }

// helmFiles contains the files that all charts share. In these files, CHART stands for the name of the chart, and
// PLATFORM stands for the name of the platform.
//
//go:embed helm
var helmFiles embed.FS

var helmPaths = map[string]string{
	"helm/helpers.tpl": "templates/_helpers.tpl",
	"helm/extra.yaml":  "templates/extra.yaml",
	"helm/NOTES.txt":   "templates/NOTES.txt",
	"helm/helmignore":  ".helmignore",
}

// Render returns a chart with a template for each component. With the default values, a release contains
// exactly the objects in b.Objects, with one exception: the RoleBindings and ClusterRoleBindings of new
// tenants can be missing until the next upgrade (see includeCondition).
func (helm) Render(ctx context.Context, b Bundle) (Tree, error) {
	c, err := newHelmChart(ctx, b)
	if err != nil {
		return Tree{}, err
	}
	return c.tree()
}

type helmChart struct {
	Bundle
	version string

	components map[string]*helmComponent // by name
	values     helmValues
	sums       []*object.Sum              // sums in templates/bounds.yaml; its variable $s0 contains the first sum
	checks     []boundCheck               // for templates/bounds.yaml
	images     map[string]bool            // the images of all containers
	restricted map[string]bool            // the tenants with an admission policy
	ownKeys    map[string]map[string]bool // the keys of the labels and annotations that trainyard generates

	renderer *renderer
}

// helmComponent is a part of the platform, such as quotas, that has its own template in the chart. A
// release of the chart can omit components.
type helmComponent struct {
	content     Content
	kinds       map[string]int // the number of objects of each kind
	conditional bool           // whether the template includes some objects only if a condition is true
}

func newHelmChart(ctx context.Context, b Bundle) (*helmChart, error) {
	c := &helmChart{
		Bundle: b, version: cmp.Or(b.Delivery.Helm.Version, "0.1.0"),
		components: map[string]*helmComponent{}, values: helmValues{}, images: map[string]bool{}, restricted: map[string]bool{},
		ownKeys:  map[string]map[string]bool{"labels": {}, "annotations": {}},
		renderer: newRenderer(),
	}
	for o := range b.Objects.All() {
		if o.ID().Kind == "ValidatingAdmissionPolicyBinding" {
			c.restricted[o.Label(v1alpha1.TenantLabel)] = true
		}
	}
	if err := c.addObjects(ctx); err != nil {
		return nil, err
	}
	c.addBounds(b.Delivery.Bounds)
	return c, nil
}

func (c *helmChart) tree() (Tree, error) {
	metadata, err := c.metadata()
	if err != nil {
		return Tree{}, err
	}
	chartFile, err := yaml.Marshal(metadata)
	if err != nil {
		return Tree{}, fmt.Errorf("writing Chart.yaml: %w", err)
	}
	schema, err := c.valuesSchema()
	if err != nil {
		return Tree{}, err
	}
	files := []File{
		{Path: "Chart.yaml", Content: Text(chartFile)},
		{Path: "values.yaml", Content: Text(c.valuesFile())},
		{Path: "values.schema.json", Content: Text(schema)},
		{Path: "README.md", Content: Text(c.readme())},
	}
	for _, name := range c.componentNames() {
		files = append(files, File{Path: "templates/" + name + ".yaml", Content: c.template(name)})
	}
	if len(c.checks) > 0 {
		files = append(files, File{Path: "templates/bounds.yaml", Content: Text(c.boundsTemplate())})
	}
	names := strings.NewReplacer("CHART", c.uniqueName(), "PLATFORM", c.Platform)
	for from, to := range helmPaths {
		text, err := helmFiles.ReadFile(from)
		if err != nil {
			return Tree{}, fmt.Errorf("reading %s: %w", from, err)
		}
		files = append(files, File{Path: to, Content: Text([]byte(names.Replace(string(text))))})
	}
	return NewTree(files...)
}

func (c *helmChart) componentNames() []string { return slices.Sorted(maps.Keys(c.components)) }

func (c *helmChart) metadata() (*chart.Metadata, error) {
	var images []map[string]string
	for _, image := range slices.Sorted(maps.Keys(c.images)) {
		images = append(images, map[string]string{"name": imageName(image), "image": image})
	}
	m := &chart.Metadata{
		APIVersion: chart.APIVersionV2, Name: c.uniqueName(), Version: c.version, Type: "application",
		Description: c.description(), AppVersion: c.Delivery.Target.Trainer,
		Keywords:    []string{"mpi", "distributed-training", "kubeflow-trainer"},
		Annotations: map[string]string{"artifacthub.io/category": "ai-machine-learning"},
	}
	if oldest := c.Delivery.Target.Kubernetes; oldest != "" {
		m.KubeVersion = ">=" + oldest + ".0-0"
	}
	if len(images) > 0 {
		m.Annotations["artifacthub.io/images"] = mustYAML(images)
	}
	if err := m.Validate(); err != nil {
		return nil, fmt.Errorf("writing Chart.yaml: %w", err)
	}
	return m, nil
}

func (c *helmChart) description() string {
	if c.Environment == "" {
		return "MPI training on Kubeflow Trainer: the platform " + c.Platform
	}
	return fmt.Sprintf("MPI training on Kubeflow Trainer: the platform %s in %s", c.Platform, c.Environment)
}

// imageName returns the last element of an image's path, such as mpi for quay.io/acme/mpi:1.
func imageName(image string) string {
	image, _, _ = strings.Cut(image, "@")
	name, _, _ := strings.Cut(path.Base(image), ":")
	return name
}
