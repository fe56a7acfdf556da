package generator

// observed are the objects that rules become, by their makers in generator/observe.
var observed = []string{"records", "alerts"}

// watching are requests for what watches the platform, where the document asks for it.
func (w *work) watching() []request {
	given := mappingAt(w.sound, "spec", "grafana")
	if len(given) == 0 || mappingAt(given, "rules")["delivery"] == "none" {
		return nil
	}
	var requests []request
	for _, maker := range observed {
		requests = append(requests, request{
			From: []string{"spec", "grafana"}, Make: maker, Kin: maker, by: observePackage, homes: []string{""},
			In: map[string]any{"platform": mappingAt(w.sound, "metadata")["name"], "settings": given},
		})
	}
	return requests
}
