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
	"a-flavor-of-a-queue-is-declared",
	"a-flavor-with-a-topology-has-nodes-of-its-own",
	"a-gang-is-all-pods",
	"a-grant-is-for-somebody",
	"a-launcher-that-is-a-node-has-a-nodes-devices",
	"a-namespace-lets-the-runtimes-of-its-tenant-in",
	"a-namespace-that-is-there-already-stays-as-it-is",
	"a-pod-has-ports-for-its-ranks",
	"a-podgroup-asks-for-too-little",
	"a-priority-class-is-declared",
	"a-queue-has-each-resource-and-flavor-in-one-group",
	"a-queue-lends-of-its-own",
	"a-queue-of-a-tenant-leads-to-a-clusterqueue",
	"a-queue-takes-jobs-of-the-namespace",
	"a-queue-takes-the-jobs-that-name-none",
	"a-runtime-of-a-namespace-has-one",
	"a-tenant-has-a-queue",
	"a-tenants-namespace-is-not-the-clusters",
	"a-topology-ends-with-the-host-name",
	"a-topology-of-a-flavor-is-declared",
	"addresses-hold-no-passwords",
	"an-artifact-is-all-objects",
	"an-initializers-address-is-its-uri",
	"an-object-has-no-fields-that-its-type-has-not",
	"an-object-store-is-not-mounted",
	"annotations-are-the-admins",
	"applications-of-a-team-are-for-one-cluster",
	"applications-of-a-team-are-of-its-git-repositories",
	"argo-cd-reads-artifacts",
	"clusterqueues-say-who-preempts",
	"dataset-and-model-do-not-mix",
	"deepspeed-has-its-port",
	"defaults-respect-the-limits",
	"devices-are-devices",
	"each-cluster-is-one-of-several-once",
	"encryption-is-the-clusters-to-do",
	"everybody-is-many-people",
	"fields-have-the-type-that-upstream-gives-them",
	"flavors-of-a-group-have-the-same-resources",
	"folders-and-instances-are-grafanas",
	"gpus-respect-the-limit",
	"initializers-can-reach-what-they-fetch",
	"initializers-do-not-wait-for-the-gang",
	"initializers-have-somewhere-to-write",
	"kubernetes-keeps-names-with-system-to-itself",
	"kueue-and-trainer-know-each-others-fields",
	"kueue-is-what-admits-jobs",
	"kueue-minds-the-namespace",
	"kueue-takes-so-many-and-no-more",
	"labels-of-a-namespace-have-one-author",
	"labels-of-rules-have-one-author",
	"limits-respect-the-ceilings",
	"mounts-do-not-hide-what-mpi-needs",
	"mounts-have-places-of-their-own",
	"mounts-leave-the-image-its-programs",
	"nearness-is-a-level-of-a-topology",
	"nearness-is-required-or-preferred",
	"no-mount-lies-in-one-that-is-read-only",
	"no-variable-refers-to-itself",
	"olm-takes-the-kinds-that-it-is-given",
	"one-cluster-or-several",
	"one-node-is-two",
	"one-process-beside-several-gpus-is-the-trainjobs-to-say",
	"only-an-object-store-has-variables",
	"only-hydra-asks-for-an-interface",
	"only-kueue-has-queues",
	"only-openshift-has-its-console",
	"openshift-assigns-user-ids",
	"openshift-labels-namespaces-itself",
	"openshift-mounts-claims-only",
	"openshifts-own-network-has-no-wireguard",
	"pod-securitys-strictest-level-refuses-nfs",
	"ports-of-mpi-are-the-platforms-to-say",
	"ranks-have-ports-to-connect-from",
	"ranks-start-on-the-hosts-of-the-job",
	"references-are-not-chained",
	"repositories-are-for-argo-cd",
	"reserved-variables-are-left-to-trainer",
	"rules-are-of-somebody",
	"second-networks-are-not-the-one-that-is-encrypted",
	"shared-memory-is-part-of-memory",
	"somebody-waits-for-the-gang",
	"storage-is-one-thing",
	"the-api-servers-address-is-known",
	"the-base-is-in-the-catalogue",
	"the-default-trainjob-can-be-admitted",
	"the-default-trainjob-fits-the-quota",
	"the-namespace-of-what-watches-is-there",
	"the-smallest-trainjob-can-be-admitted",
	"the-smallest-trainjob-fits-the-quota",
	"tolerations-make-sense",
	"tolerations-of-flavors-make-sense",
	"trainer-runs-on-the-cluster",
	"what-is-allowed-is-forbidden-otherwise",
	"what-is-borrowed-and-lent-has-a-quota",
	"what-is-called-encrypted-does-not-go-by-rdma",
	"what-watches-has-a-namespace",
	"who-borrows-and-lends-has-a-cohort",
	"who-is-exempt-is-a-user",
	"who-preempts-to-borrow-also-reclaims",
}

func TestNamesOfRulesStay(t *testing.T) {
	e, err := newEngine(trainyard.CUE)
	if err != nil {
		t.Fatal(err)
	}
	got := []string{smallestFits.Name, defaultFits.Name, smallestIsAdmitted.Name, defaultIsAdmitted.Name, lendsItsOwn.Name, knownFields.Name, rightTypes.Name}
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
