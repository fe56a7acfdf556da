package workload

// Typical is the size of workload W2: one environment of a company with many tenants. The generated objects
// include admission rules, network policies, quotas, roles and dashboards. All runtimes are cluster-wide.
var Typical = Size{Runtimes: 20, Tenants: 100, Environments: 1}

// typicalSpec is the content of the field "spec" in a document of workload W2.
type typicalSpec struct {
	Target   mapping            `json:"target"`
	Ceilings mapping            `json:"ceilings"`
	Runtimes map[string]mapping `json:"runtimes"`
	Tenants  map[string]mapping `json:"tenants"`
	Grafana  mapping            `json:"grafana"`
}

// TypicalDocument returns the document of workload W2 as YAML. The document has no environments, so trainyard
// generates the objects of only one cluster from this document.
func (s Size) TypicalDocument() ([]byte, error) {
	all := typicalSpec{
		Target:   mapping{"kubernetes": "1.33", "trainer": "2.3"},
		Ceilings: atMost(64),
		Runtimes: map[string]mapping{},
		Tenants:  map[string]mapping{},
		Grafana:  mapping{"delivery": "sidecar", "rules": mapping{"labels": mapping{"release": "kube-prometheus-stack"}}},
	}
	var names []string
	for i := range s.Runtimes {
		settings := runtimeSettings(i)
		settings["scope"] = "cluster"
		delete(settings, "gang") // if target.gang is none, gang.timeout is not allowed
		all.Runtimes[Runtime(i)] = settings
		names = append(names, Runtime(i))
	}
	for i := range s.Tenants {
		all.Tenants[Tenant(i)] = mapping{
			"namespace":         mapping{"create": true},
			"runtimes":          names,
			"editors":           mapping{"groups": []string{Tenant(i)}},
			"viewers":           mapping{"groups": []string{"audit"}},
			"quota":             mapping{"cpu": 500 + i, "memory": "8Ti", "pods": 200, "nvidia.com/gpu": 64},
			"containerDefaults": mapping{"cpu": 1, "memory": "1Gi"},
			"egress":            mapping{"storage": mapping{"cidrs": []string{"10.20.0.0/16"}, "tcp": []int{443}}},
		}
	}
	return write(all)
}
