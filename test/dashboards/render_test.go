package dashboards

import (
	"encoding/json"
	"io/fs"
	"testing"

	"cuelang.org/go/cue"
	"cuelang.org/go/cue/cuecontext"
	"cuelang.org/go/cue/load"

	"github.com/trainyard/trainyard"
)

// renderedDashboards holds the dashboards for each viewer: Grafana, the OpenShift console and Perses. The keys of the
// maps are the names of the dashboards.
type renderedDashboards struct {
	grafana   map[string]board
	openshift map[string]console
	perses    map[string]perses
	texts     map[string][]byte // Grafana's JSON, as delivered
}

// board is a dashboard in Grafana's JSON model, with the fields that the rules check.
type board struct {
	UID        string       `json:"uid"`
	Title      string       `json:"title"`
	Tags       []string     `json:"tags"`
	Editable   bool         `json:"editable"`
	Links      []boardLink  `json:"links"`
	Templating templating   `json:"templating"`
	Panels     []boardPanel `json:"panels"`
}

type boardLink struct {
	Type        string `json:"type"`
	IncludeVars bool   `json:"includeVars"`
	KeepTime    bool   `json:"keepTime"`
}

type templating struct {
	List []variable `json:"list"`
}

type variable struct {
	Name       string     `json:"name"`
	Type       string     `json:"type"`
	Query      any        `json:"query"` // a string, or a mapping whose key "query" contains a string
	Datasource datasource `json:"datasource"`
	Refresh    int        `json:"refresh"`
	Hide       int        `json:"hide"`
	Multi      bool       `json:"multi"`
	IncludeAll bool       `json:"includeAll"`
	AllValue   string     `json:"allValue"`
}

func (v variable) variableQuery() string {
	if in, is := v.Query.(map[string]any); is {
		text, _ := in["query"].(string)
		return text
	}
	text, _ := v.Query.(string)
	return text
}

type datasource struct {
	Type string `json:"type"`
	UID  string `json:"uid"`
}

type boardPanel struct {
	ID          int64      `json:"id"`
	Type        string     `json:"type"`
	Title       string     `json:"title"`
	Description string     `json:"description"`
	Interval    string     `json:"interval"`
	Datasource  datasource `json:"datasource"`
	GridPos     struct{ X, Y, W, H int }
	Targets     []target `json:"targets"`
	FieldConfig struct {
		Defaults struct {
			Unit       string      `json:"unit"`
			Decimals   *int        `json:"decimals"`
			Links      []fieldLink `json:"links"`
			Thresholds struct {
				Steps []struct{ Color string }
			} `json:"thresholds"`
		} `json:"defaults"`
		Overrides []override `json:"overrides"`
	} `json:"fieldConfig"`
	Transformations []struct {
		Options struct {
			RenameByName map[string]string `json:"renameByName"`
		} `json:"options"`
	} `json:"transformations"`
}

// override is a part of a panel's configuration. It selects series or table columns by their names,
// and changes their properties.
type override struct {
	Matcher struct {
		Options string `json:"options"`
	} `json:"matcher"`
	Properties []struct {
		ID    string          `json:"id"`
		Value json.RawMessage `json:"value"`
	} `json:"properties"`
}

// seriesLinks returns the links that the panel offers for its series, or for the rows of its table.
func (p boardPanel) seriesLinks() []fieldLink {
	all := p.FieldConfig.Defaults.Links
	for _, override := range p.FieldConfig.Overrides {
		for _, property := range override.Properties {
			var more []fieldLink
			if property.ID == "links" && json.Unmarshal(property.Value, &more) == nil {
				all = append(all, more...)
			}
		}
	}
	return all
}

type fieldLink struct {
	URL string `json:"url"`
}

type target struct {
	Datasource   datasource `json:"datasource"`
	Expr         string     `json:"expr"`
	LegendFormat string     `json:"legendFormat"`
	RefID        string     `json:"refId"`
}

// console is a dashboard in the JSON format of the OpenShift console.
type console struct {
	UID        string     `json:"uid"`
	Title      string     `json:"title"`
	Templating templating `json:"templating"`
	Rows       []struct {
		Title     string         `json:"title"`
		ShowTitle bool           `json:"showTitle"`
		Panels    []consolePanel `json:"panels"`
	} `json:"rows"`
}

type consolePanel struct {
	Type            string   `json:"type"`
	Title           string   `json:"title"`
	Span            int      `json:"span"`
	Targets         []target `json:"targets"`
	Styles          []any    `json:"styles"`
	Datasource      any      `json:"datasource"`
	Transformations []any    `json:"transformations"`
}

type perses struct {
	Panels  map[string]persesPanel `json:"panels"`
	Layouts []struct {
		Spec struct {
			Items []struct {
				X, Y, Width, Height int
				Content             struct {
					Ref string `json:"$ref"`
				}
			}
		}
	} `json:"layouts"`
}

type persesPanel struct {
	Spec struct {
		Display struct{ Name, Description string }
		Plugin  struct{ Kind string }
		Queries []struct {
			Spec struct {
				Plugin struct {
					Spec struct{ Query string }
				}
			}
		}
	}
}

func render(t *testing.T, module fs.FS) renderedDashboards {
	t.Helper()
	v := loadDashboards(t, module)
	var texts struct{ Grafana, OpenShift map[string]string }
	read(t, v.LookupPath(cue.ParsePath("grafana")), &texts.Grafana)
	read(t, v.LookupPath(cue.ParsePath("openshift")), &texts.OpenShift)
	r := renderedDashboards{grafana: map[string]board{}, openshift: map[string]console{}, texts: map[string][]byte{}}
	for name, text := range texts.Grafana {
		r.texts[name] = []byte(text)
		r.grafana[name] = parse[board](t, text)
	}
	for name, text := range texts.OpenShift {
		r.openshift[name] = parse[console](t, text)
	}
	read(t, v.LookupPath(cue.ParsePath("perses")), &r.perses)
	return r
}

func loadDashboards(t *testing.T, module fs.FS) cue.Value {
	t.Helper()
	instance := load.Instances([]string{"./dashboards"}, &load.Config{FS: module, Dir: "/grafana"})[0]
	if instance.Err != nil {
		t.Fatal(instance.Err)
	}
	v := cuecontext.New().BuildInstance(instance)
	if err := v.Err(); err != nil {
		t.Fatal(err)
	}
	return v
}

var renderingCache *renderedDashboards

func shippedDashboards(t *testing.T) renderedDashboards {
	t.Helper()
	if renderingCache == nil {
		r := render(t, trainyard.CUE)
		renderingCache = &r
	}
	return *renderingCache
}

func read(t *testing.T, v cue.Value, into any) {
	t.Helper()
	text, err := v.MarshalJSON()
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(text, into); err != nil {
		t.Fatal(err)
	}
}

func parse[T any](t *testing.T, text string) (into T) {
	t.Helper()
	if err := json.Unmarshal([]byte(text), &into); err != nil {
		t.Fatal(err)
	}
	return into
}
