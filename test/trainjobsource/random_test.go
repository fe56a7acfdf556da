package trainjobsource

import (
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"

	trainer "github.com/kubeflow/trainer/v2/pkg/apis/trainer/v1alpha1"
)

// randomSteps makes random changes in Git and in the cluster, and lets the controller crash at random times. After each
// round, randomSteps checks that no two runs of a job are active. randomSteps returns the number of committed versions of
// each job.
func (w *world) randomSteps(steps int) map[string]int {
	w.t.Helper()
	random := rand.New(rand.NewPCG(3, 4))
	versions := map[string]int{}
	for range steps {
		job := fmt.Sprintf("job-%d", random.IntN(3))
		switch random.IntN(8) {
		case 0, 1:
			w.commit(job, fmt.Sprintf("numNodes: %d", 1+random.IntN(3)))
			versions[job]++
		case 2:
			w.commit(job, "")
		case 3:
			if names := slices.Sorted(maps.Keys(w.list())); len(names) > 0 {
				w.end(names[random.IntN(len(names))], trainer.TrainJobComplete)
			}
		case 4:
			w.restart(1 + random.Int64N(3))
		default:
			if _, err := w.round(); errors.Is(err, errCrashed) {
				w.restart(0)
			} else if err != nil {
				w.t.Fatal(err)
			}
			w.checkQueue()
		}
	}
	w.restart(0)
	return versions
}

func (w *world) checkQueue() {
	w.t.Helper()
	active := map[string]string{}
	for name, t := range w.list() {
		job := t.Labels["trainyard.dev/job"]
		if len(t.Status.Conditions) > 0 {
			continue
		}
		if other := active[job]; other != "" {
			w.t.Fatalf("the runs %s and %s of %s are active at the same time", other, name, job)
		}
		active[job] = name
	}
}
