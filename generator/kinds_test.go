package generator

import (
	"slices"
	"testing"

	"cuelang.org/go/cue"
	"github.com/google/go-cmp/cmp"

	"github.com/trainyard/trainyard"
)

// published are the names of rules by which others sort, track and silence what we
// find. One that changes makes them start anew.
var published = []string{
	"a-base-for-gpus-has-gpus-that-it-can-count",
	"a-gang-is-all-pods",
	"a-grant-is-for-somebody",
	"a-launcher-that-is-a-node-has-a-nodes-devices",
	"a-namespace-lets-the-runtimes-of-its-tenant-in",
	"a-namespace-that-is-there-already-stays-as-it-is",
	"a-podgroup-asks-for-too-little",
	"a-runtime-of-a-namespace-has-one",
	"an-initializers-address-is-its-uri",
	"an-object-store-is-not-mounted",
	"annotations-are-the-admins",
	"dataset-and-model-do-not-mix",
	"defaults-respect-the-limits",
	"devices-are-devices",
	"gpus-respect-the-limit",
	"initializers-can-reach-what-they-fetch",
	"initializers-do-not-wait-for-the-gang",
	"initializers-have-somewhere-to-write",
	"kueue-and-trainer-know-each-others-fields",
	"kueue-is-what-admits-jobs",
	"labels-of-a-namespace-have-one-author",
	"limits-respect-the-ceilings",
	"mounts-do-not-hide-what-mpi-needs",
	"mounts-have-places-of-their-own",
	"mounts-leave-the-image-its-programs",
	"no-mount-lies-in-one-that-is-read-only",
	"no-variable-refers-to-itself", "one-node-is-two",
	"one-process-beside-several-gpus-is-the-trainjobs-to-say",
	"only-an-object-store-has-variables",
	"only-hydra-asks-for-an-interface", "openshift-assigns-user-ids",
	"openshift-labels-namespaces-itself",
	"openshift-mounts-claims-only",
	"pod-securitys-strictest-level-refuses-nfs",
	"ranks-start-on-the-hosts-of-the-job",
	"references-are-not-chained",
	"reserved-variables-are-left-to-trainer",
	"shared-memory-is-part-of-memory", "somebody-waits-for-the-gang",
	"storage-is-one-thing",
	"the-api-servers-address-is-known",
	"the-base-is-in-the-catalogue",
	"the-default-trainjob-fits-the-quota",
	"the-smallest-trainjob-fits-the-quota",
	"tolerations-make-sense",
	"trainer-runs-on-the-cluster",
	"what-is-allowed-is-forbidden-otherwise",
}

func TestNamesOfRulesStay(t *testing.T) {
	e, err := newEngine(trainyard.CUE)
	if err != nil {
		t.Fatal(err)
	}
	got := []string{smallestFits.Name, defaultFits.Name, smallestIsAdmitted.Name, defaultIsAdmitted.Name, lendsItsOwn.Name}
	for _, path := range []cue.Path{problemsPath, notesPath} {
		rules, err := e.definitions.LookupPath(path).Fields()
		if err != nil {
			t.Fatal(err)
		}
		for rules.Next() {
			got = append(got, ruleOf(rules.Selector().Unquoted()).Name)
		}
	}
	slices.Sort(got)
	if diff := cmp.Diff(published, got); diff != "" {
		t.Errorf("names of rules: -want +got:\n%s", diff)
	}
}
