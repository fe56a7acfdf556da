package generator

import (
	"cuelang.org/go/cue"
)

var dashboardsPath = cue.ParsePath("names")

// dashboards are requests for the Grafana dashboards, as what the document has deliver them takes them.
func (w *work) dashboards(on *engine) ([]request, error) {
	given := mappingAt(w.sound, "spec", "grafana")
	delivery, _ := given["delivery"].(string)
	if delivery == "" {
		return nil, nil
	}
	boards, err := on.built(boardsPackage)
	if err != nil {
		return nil, err
	}
	var names []string
	if err := decode(boards.LookupPath(dashboardsPath), &names); err != nil {
		return nil, bug("reading which dashboards there are", err)
	}
	var requests []request
	for _, name := range names {
		requests = append(requests, request{
			From: []string{"spec", "grafana"}, Make: delivery, Kin: name, by: boardsPackage, homes: []string{""},
			In: map[string]any{
				"platform": mappingAt(w.sound, "metadata")["name"], "name": name,
				"settings": those(given, []string{"namespace", "folder", "instances"}),
			},
		})
	}
	return requests, nil
}
