package generator

import (
	"fmt"
	"maps"
	"slices"

	"cuelang.org/go/cue"

	"github.com/trainyard/trainyard/generator/fit"
)

// Rules about what queues have, and what runtimes ask for.
var (
	lendsItsOwn        = ruleOf("a queue lends of its own")
	smallestIsAdmitted = ruleOf("the smallest TrainJob can be admitted")
	defaultIsAdmitted  = ruleOf("the default TrainJob can be admitted")
)

var localQueuesPath = cue.ParsePath("localQueues")

// localQueues are requests for the queues of tenants.
func (w *work) localQueues(filled cue.Value) ([]request, error) {
	var asked struct {
		Made    bool   `json:"made"`
		Version string `json:"version"`
	}
	if err := decode(filled.LookupPath(localQueuesPath), &asked); err != nil {
		return nil, bug("reading what LocalQueues are made for", err)
	}
	tenants := mappingAt(w.sound, "spec", "tenants")
	var requests []request
	for _, tenant := range slices.Sorted(maps.Keys(tenants)) {
		queues := mappingAt(tenants, tenant, "queues")
		for _, name := range slices.Sorted(maps.Keys(queues)) {
			if asked.Made {
				requests = append(requests, request{
					From: []string{"spec", "tenants", tenant}, Make: "local-queue", Kin: "local-queue", by: makersPackage, homes: []string{tenant},
					In: map[string]any{
						"platform": mappingAt(w.sound, "metadata")["name"], "name": name, "version": asked.Version,
						"settings": map[string]any{"clusterQueue": queues[name]},
					},
				})
			}
		}
	}
	return requests, nil
}

// clusterQueue is one of the document's, with amounts that are read.
type clusterQueue struct {
	cohort string
	groups [][]share
}

// share is what a ClusterQueue has of a flavor. Resources that borrowing or lending do not name are
// borrowed and lent without a limit.
type share struct {
	flavor                    string
	quota, borrowing, lending fit.Amounts
}

// readQueues reads the document's ClusterQueues.
func readQueues(given map[string]any) (map[string]clusterQueue, error) {
	queues := map[string]clusterQueue{}
	for name := range given {
		queue := mappingAt(given, name)
		cohort, _ := queue["cohort"].(string)
		read := clusterQueue{cohort: cohort}
		for _, group := range itemsAt(queue, "groups") {
			var shares []share
			for _, flavor := range itemsAt(group, "flavors") {
				s, err := readShare(flavor)
				if err != nil {
					return nil, bug("reading what ClusterQueue "+name+" has", err)
				}
				shares = append(shares, s)
			}
			read.groups = append(read.groups, shares)
		}
		queues[name] = read
	}
	return queues, nil
}

func readShare(flavor map[string]any) (s share, err error) {
	s.flavor, _ = flavor["flavor"].(string)
	for field, into := range map[string]*fit.Amounts{"quota": &s.quota, "borrowing": &s.borrowing, "lending": &s.lending} {
		if *into, err = fit.Read(mappingAt(flavor, field), 0); err != nil {
			return s, err
		}
	}
	return s, nil
}

// lends is how much of a resource others of the cohort may use.
func (s share) lends(resource string) int64 {
	if limit, limited := s.lending[resource]; limited {
		return min(limit, s.quota[resource])
	}
	return s.quota[resource]
}

// lent is what all queues of a cohort lend of a resource of a flavor.
type lent map[part]int64

// part is a resource of a flavor in a cohort.
type part struct{ cohort, flavor, resource string }

func lentBy(queues map[string]clusterQueue) lent {
	all := lent{}
	for _, queue := range queues {
		for _, s := range slices.Concat(queue.groups...) {
			for resource := range s.quota {
				at := part{queue.cohort, s.flavor, resource}
				all[at] = fit.Plus(all[at], s.lends(resource))
			}
		}
	}
	return all
}

// room is how much there is of a share, with what its queue's cohort lends.
func (l lent) room(s share, cohort string) fit.Amounts {
	room := maps.Clone(s.quota)
	for resource := range room {
		if cohort != "" {
			room[resource] = s.most(resource, l[part{cohort, s.flavor, resource}])
		}
	}
	return room
}

// rooms are what each ClusterQueue could ever admit.
func rooms(queues map[string]clusterQueue, flavors map[string]any) map[string]fit.Queue {
	all := lentBy(queues)
	found := map[string]fit.Queue{}
	for name, queue := range queues {
		for _, shares := range queue.groups {
			var group fit.Group
			for _, s := range shares {
				group = append(group, fit.Flavor{Name: s.flavor, Labels: textsAt(flavors, s.flavor, "nodeLabels"), Room: all.room(s, queue.cohort)})
			}
			found[name] = append(found[name], group)
		}
	}
	return found
}

// most is how much of a resource there is where the cohort lends so much in all, of which some is the queue's own.
// Source: Kueue's potentialAvailable.
func (s share) most(resource string, cohort int64) int64 {
	most := fit.Plus(s.quota[resource]-s.lends(resource), cohort)
	if limit, limited := s.borrowing[resource]; limited {
		most = min(most, s.quota[resource]+limit)
	}
	return most
}

// queues finds what a document lends that it does not have, and what its queues could ever admit.
func (f *fitting) queues() error {
	spec := mappingAt(f.sound, "spec", "queues")
	queues, err := readQueues(mappingAt(spec, "clusterQueues"))
	if err != nil {
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(queues)) {
		for g, group := range queues[name].groups {
			for i, s := range group {
				f.lending([]string{"spec", "queues", "clusterQueues", name, "groups", fmt.Sprint(g), "flavors", fmt.Sprint(i), "lending"}, s)
			}
		}
	}
	f.rooms = rooms(queues, mappingAt(spec, "flavors"))
	return nil
}

func (f *fitting) lending(path []string, s share) {
	for _, resource := range slices.Sorted(maps.Keys(s.lending)) {
		if quota, has := s.quota[resource]; has && s.lending[resource] > quota {
			f.say(&f.problems, extend(path, resource), lendsItsOwn, fmt.Sprintf("want at most the queue's own quota, which is %s, got %s",
				fit.Words(resource, quota), fit.Words(resource, s.lending[resource])))
		}
	}
}

// admitted is how large TrainJobs each queue of a tenant could ever admit. It reports what none of them could.
func (f *fitting) admitted(path []string, tenant map[string]any, job fit.Job) map[string]fit.Fit {
	fits := map[string]fit.Fit{}
	best, where := fit.Fit{Nodes: -1}, ""
	given := mappingAt(tenant, "queues")
	for _, name := range slices.Sorted(maps.Keys(given)) {
		queue, _ := given[name].(string)
		room, known := f.rooms[queue]
		if !known {
			continue
		}
		fits[name] = job.InQueue(room)
		if fits[name].Nodes > best.Nodes {
			best, where = fits[name], queue
		}
	}
	switch {
	case where == "":
	case best.Nodes == 0:
		f.say(&f.problems, path, smallestIsAdmitted, fmt.Sprintf("can never be admitted: %s", never(best.Bound, where)))
	case best.Nodes < job.Default:
		f.say(&f.notes, path, defaultIsAdmitted, fmt.Sprintf("its default TrainJob of %d nodes is never admitted, because ClusterQueue %s could have %d at most: somebody has to ask for fewer nodes",
			job.Default, where, best.Nodes))
	}
	return fits
}

// never says what keeps a queue from admitting even the smallest TrainJob.
func never(s fit.Shortage, queue string) string {
	who := "its smallest TrainJob, a launcher and a node,"
	if s.Who != "" {
		who = "its " + s.Who
	}
	switch {
	case s.Lacking && s.Resource == "":
		return fmt.Sprintf("%s chooses Kubernetes nodes that no flavor of ClusterQueue %s has", who, queue)
	case s.Lacking:
		return fmt.Sprintf("%s asks for %s, of which ClusterQueue %s has none", who, s.Resource, queue)
	}
	return fmt.Sprintf("%s asks for %s, and flavor %s of ClusterQueue %s with all that its cohort lends has %s",
		who, fit.Words(s.Resource, s.Asks), s.Flavor, queue, fit.Words(s.Resource, s.Bound))
}

// queueBound names a bound of a queue, or the runtime's own.
func queueBound(queue string, s fit.Shortage) string {
	switch {
	case s.Lacking && s.Resource == "":
		return queue + " flavors"
	case s.Resource == "":
		return runtimeBound
	}
	return queue + " " + s.Resource
}

// itemsAt are the mappings in a list.
func itemsAt(values map[string]any, key string) []map[string]any {
	list, _ := values[key].([]any)
	var items []map[string]any
	for _, item := range list {
		if mapping, is := item.(map[string]any); is {
			items = append(items, mapping)
		}
	}
	return items
}

// textsAt are the texts of a mapping.
func textsAt(values map[string]any, keys ...string) map[string]string {
	texts := map[string]string{}
	for key, value := range mappingAt(values, keys...) {
		texts[key], _ = value.(string)
	}
	return texts
}
