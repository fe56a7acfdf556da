package prometheus

import "strings"

// Templates holds recorded series from which a larger cluster can be simulated. In the larger cluster, each tenant has
// a number, such as 003. Each TrainJob of a tenant also has a number, such as 0012. In a label, the text {tenant}
// stands for the number of the tenant. The text {job} stands for the number of the tenant, a hyphen and the number of
// the TrainJob, such as 003-0012.
type Templates struct {
	PerJob    []string // series of a TrainJob, whose launcher and node have one GPU each
	PerTenant []string // series of a tenant's namespace and ClusterQueue
	Once      []string // series of controllers and webhooks
}

// SeriesTemplates makes templates from the recorded series of the TrainJob bert, of its tenant, and of the cluster.
func SeriesTemplates() Templates {
	var all Templates
	fill := strings.NewReplacer("\", ", "\",", "team-vision", "team-{tenant}", "bert", "bert-{job}", "gpu-", "gpu-{job}-", `cluster_queue="research"`, `cluster_queue="research-{tenant}"`)
	for line := range strings.Lines(recordedSeries) {
		line = strings.TrimSpace(line)
		has := func(texts ...string) bool {
			for _, text := range texts {
				if strings.Contains(line, text) {
					return true
				}
			}
			return false
		}
		switch {
		case line == "" || has("# ", "team-speech", "exported_namespace", "ALERTS"):
		case has(`pod="bert-launcher-0-0`, `pod="bert-node-0-0`, `job_name="bert-launcher-0"`, `job_name="bert-node-0"`, `trainjob="bert"`):
			all.PerJob = append(all.PerJob, fill.Replace(line))
		case has("trainjob=", "job_name=", `created_by_kind="Job"`, "-0-0-", "-0-1-", "-0-2-"): // skip other TrainJobs
		case has("team-vision", `cluster_queue="research"`):
			all.PerTenant = append(all.PerTenant, fill.Replace(line))
		case has("cluster_queue="): // skip other ClusterQueues
		default:
			all.Once = append(all.Once, strings.ReplaceAll(line, "\", ", "\","))
		}
	}
	return all
}
