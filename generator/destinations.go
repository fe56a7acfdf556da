package generator

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/trainyard/trainyard/generator/load"
	"github.com/trainyard/trainyard/generator/object"
	"github.com/trainyard/trainyard/generator/plan"
	"github.com/trainyard/trainyard/generator/problem"
)

var sharedDestination = problem.Rule{Name: "shared-destination", Doc: "No two environments deliver the same object to the same cluster through Argo CD"}

// checkDestinations reports a problem for an environment if an earlier environment delivers the same object to the same
// cluster. The Argo CD Applications of the two environments would overwrite each other's version of the object again and
// again.
func checkDestinations(documents []*load.Document, plans []*plan.Plan, objects []object.Set) error {
	errs := make([]error, len(plans))
	for i, later := range plans {
		for j, earlier := range plans[:i] {
			cluster, shared := sharedCluster(earlier.Delivery.ArgoCD, later.Delivery.ArgoCD)
			if !shared || errs[i] != nil {
				continue
			}
			if id, ok := firstCommon(objects[j], objects[i]); ok {
				path := []string{"spec", "delivery", "argocd", "cluster"}
				errs[i] = problem.List{{
					Position: documents[i].Root.Locate(path...), Rule: sharedDestination, Path: problem.Path(path),
					Message: fmt.Sprintf("want another cluster than in environment %q: %s",
						documents[j].Environment, describeConflict(id, cluster)),
				}}
			}
		}
	}
	return mergeProblems(documents, errs)
}

// sharedCluster returns a cluster to which both environments are delivered. The result "ok" is false if there is no
// such cluster. The empty cluster name stands for the cluster in which Argo CD runs. If the two environments have
// different instances of Argo CD, the same name can mean a different cluster in each instance. In this case,
// sharedCluster compares only the addresses of clusters, and ignores their names.
func sharedCluster(a, b *object.ArgoCD) (cluster string, ok bool) {
	if a == nil || b == nil {
		return "", false
	}
	of := clustersOf(b)
	for _, cluster := range clustersOf(a) {
		if slices.Contains(of, cluster) && (a.Instance == b.Instance || isAddress(cluster)) {
			return cluster, true
		}
	}
	return "", false
}

// describeConflict returns a message about an object that two environments contain. The message says that Argo CD would
// apply the versions from both environments to the same cluster.
func describeConflict(id object.ID, cluster string) string {
	if isAddress(cluster) {
		return fmt.Sprintf("both environments contain %s %q and deploy to the same cluster (%s), so each of the two objects would overwrite the other", id.Kind, id.Name, cluster)
	}
	return fmt.Sprintf("both environments contain %s %q and deploy to the same cluster (%s), so each of the two objects would overwrite the other; if each environment has its own Argo CD, set a different delivery.argocd.instance in each environment",
		id.Kind, id.Name, cmp.Or(cluster, "the cluster in which Argo CD runs"))
}

// isAddress reports whether a text is the address of a cluster, and not its name in Argo CD.
func isAddress(cluster string) bool { return strings.Contains(cluster, "://") }

func clustersOf(a *object.ArgoCD) []string {
	if len(a.Clusters) == 0 {
		return []string{canonicalCluster(a.Cluster)}
	}
	var all []string
	for _, c := range a.Clusters {
		all = append(all, canonicalCluster(c.Cluster))
	}
	slices.Sort(all)
	return all
}

// canonicalCluster returns the same text for different spellings of the name or the address of a
// cluster. For the cluster in which Argo CD runs, the text is empty.
func canonicalCluster(cluster string) string {
	cluster = strings.TrimSuffix(strings.TrimSuffix(strings.ToLower(cluster), "/"), ":443")
	if cluster == "in-cluster" || cluster == "https://kubernetes.default.svc" {
		return ""
	}
	return cluster
}

// firstCommon returns the first object of the set b that is also in the set a.
func firstCommon(a, b object.Set) (object.ID, bool) {
	in := map[object.ID]bool{}
	for o := range a.All() {
		in[o.ID()] = true
	}
	for o := range b.All() {
		if in[o.ID()] {
			return o.ID(), true
		}
	}
	return object.ID{}, false
}
