package argocd

import (
	"fmt"
	"strings"
	"testing"

	"github.com/trainyard/trainyard/test/attack"
)

// onboardings is the default number of rounds of TestNoTrainJobEscapesDuringOnboarding. The default is small,
// because a round is slow: Argo CD applies all sync waves twice. tenantsPerRound is the number of tenants
// that the test adds and removes in each round.
const (
	onboardings     = 2
	tenantsPerRound = 5
)

// TestNoTrainJobEscapesDuringOnboarding adds and removes tenants through Git, several times. Meanwhile, an editor
// of each tenant submits TrainJobs with a runtime that the tenant does not list. The test fails if one of these
// TrainJobs is admitted.
func TestNoTrainJobEscapesDuringOnboarding(t *testing.T) {
	w := newWorld(t)
	w.awaitCondition(t, "the platform is applied", w.inSync(w.headCommit(t)))
	attacks := map[string]*attack.Attack{}
	for i := range tenantsPerRound {
		name := fmt.Sprintf("onboarded-%d", i)
		attacks[name] = attack.Start(t, w.Config(), name)
	}
	rounds := attack.Rounds(t, onboardings)
	for round := range rounds {
		w.expectOnboarded(t, attacks)
		w.expectRemoved(t, attacks)
		for name, a := range attacks {
			if n := a.Admitted.Load(); n > 0 {
				t.Fatalf("%d TrainJobs of %s were admitted by round %d", n, name, round+1)
			}
		}
	}
	var policy, rights int64
	for _, a := range attacks {
		policy, rights = policy+a.Policy.Load(), rights+a.Rights.Load()
	}
	t.Logf("%d tenants were added and removed: %d TrainJobs were refused by the policy and %d for lack of rights", rounds*len(attacks), policy, rights)
}

// expectOnboarded adds the tenants, and waits until the admission policy refuses forbidden TrainJobs in the namespace
// of each tenant. The package "attack" submits the forbidden TrainJobs as an editor of the tenant. Each forbidden
// TrainJob refers to a runtime that the tenant does not list.
func (w *world) expectOnboarded(t *testing.T, attacks map[string]*attack.Attack) {
	t.Helper()
	var tenants []string
	for name := range attacks {
		tenants = append(tenants, name+": {runtimes: [mpi-openmpi-cpu], namespace: {create: true}, queues: {default: research}, editors: {groups: ["+name+"]}}")
	}
	w.layer(t, "onboarded.yaml", "spec: {tenants: {"+strings.Join(tenants, ", ")+"}}\n")
	w.generate(t)
	w.push(t, "Add tenants")
	w.refresh(t)
	w.awaitCondition(t, "the tenants are added", w.inSync(w.headCommit(t)))
	for _, a := range attacks {
		a.Await(t, &a.Policy)
	}
}

// expectRemoved removes the tenants, and waits until the tenants' editors have no rights.
func (w *world) expectRemoved(t *testing.T, attacks map[string]*attack.Attack) {
	t.Helper()
	var tenants, removals []string
	for name := range attacks {
		tenants = append(tenants, name+": null")
		removals = append(removals, "--remove", "tenant/"+name)
	}
	w.layer(t, "onboarded.yaml", "spec: {tenants: {"+strings.Join(tenants, ", ")+"}}\n")
	w.generate(t, removals...)
	w.push(t, "Remove tenants")
	w.refresh(t)
	w.awaitCondition(t, "the tenants are removed", w.inSync(w.headCommit(t)))
	for _, a := range attacks {
		a.Await(t, &a.Rights)
	}
}
