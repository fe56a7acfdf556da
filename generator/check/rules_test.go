package check

import (
	"slices"
	"testing"

	"cuelang.org/go/cue"
	"github.com/google/go-cmp/cmp"

	"github.com/trainyard/trainyard"
	"github.com/trainyard/trainyard/generator/evaluate"
)

// publishedRules lists the names of all rules that are written in CUE. Users sort, track and silence findings by the name of
// the rule, so a renamed rule would lose the history of its findings.
var publishedRules = []string{
	"allowance-without-isolation",
	"applications-on-many-clusters",
	"applications-without-git",
	"argocd-without-oci",
	"blocked-initializer",
	"borrowing-without-cohort",
	"borrowing-without-quota",
	"bound-mpich-ranks",
	"chained-variable",
	"changing-image",
	"cidr-under-cilium",
	"cluster-and-clusters",
	"console-without-openshift",
	"deepspeed-port",
	"default-over-limit",
	"duplicate-cluster",
	"egress-to-everywhere",
	"exempt-group",
	"existing-namespace-changed",
	"few-outgoing-ports",
	"fixed-user-on-openshift",
	"gang-without-scheduler",
	"gpu-flavor-first",
	"grants-without-editors",
	"hostname-not-last",
	"ignored-preemption",
	"initializer-outside-gang",
	"initializer-variable",
	"initializer-without-digest",
	"initializer-without-storage",
	"invalid-device",
	"invalid-flavor-toleration",
	"invalid-toleration",
	"isolated-job-pods",
	"kubernetes-too-old",
	"kueue-trainer-mismatch",
	"kueue-without-gang",
	"kueue-without-queues",
	"launcher-adds-pod",
	"launcher-devices-differ",
	"less-than-one-cpu",
	"limit-over-ceiling",
	"mixed-dataset-and-model",
	"monitoring-namespace-required",
	"more-processes-than-cpus",
	"more-processes-than-gpus",
	"mount-in-read-only",
	"mount-over-mpi-files",
	"mount-over-programs",
	"mounted-object-store",
	"mpi-port-variable",
	"namespace-not-selected",
	"namespaced-runtime-unlisted",
	"nfs-on-openshift",
	"nfs-under-restricted",
	"no-countable-gpu",
	"no-default-queue",
	"one-process-many-gpus",
	"overlapping-mounts",
	"partial-gang",
	"password-in-url",
	"path-in-artifact",
	"pod-security-on-openshift",
	"pod-security-too-strict",
	"preemption-without-reclaim",
	"preflight-before-gang",
	"queue-without-ephemeral-storage",
	"queues-without-kueue",
	"ranks-on-other-hosts",
	"rdma-without-device",
	"repeated-queue-resource",
	"repeated-source",
	"repositories-without-argocd",
	"reserved-annotation",
	"reserved-namespace-label",
	"reserved-rule-label",
	"reserved-variable",
	"role-for-everyone",
	"self-reference",
	"setting-without-effect",
	"several-git-references",
	"several-storage-kinds",
	"shared-memory-over-memory",
	"single-queue-cohort",
	"source-time-out-of-range",
	"sources-without-controller",
	"stopped-queue",
	"system-namespace",
	"system-priority-class",
	"tenant-without-queue",
	"too-few-mpi-ports",
	"too-many-for-kueue",
	"too-many-gpus",
	"topology-without-node-labels",
	"two-topology-requests",
	"unchecked-quota",
	"undersized-pod-group",
	"unencrypted-rdma",
	"unencrypted-second-network",
	"uneven-flavor-group",
	"unknown-api-server-address",
	"unknown-base",
	"unknown-cluster-queue",
	"unknown-flavor",
	"unknown-priority-class",
	"unknown-tenant-priority-class",
	"unknown-topology",
	"unknown-topology-level",
	"unlimited-tenant",
	"unmanaged-namespace",
	"unsupported-olm-kind",
	"untagged-output",
	"unused-grafana-setting",
	"unused-monitoring-namespace",
	"unused-rules-setting",
	"unverified-encryption",
	"user-workload-monitoring",
	"variables-without-object-store",
	"visible-nfs-server",
	"wireguard-on-openshift",
}

func TestRuleNamesStay(t *testing.T) {
	e, err := evaluate.New(trainyard.CUE)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, path := range []cue.Path{problemsPath, notesPath} {
		for rules := evaluate.Fields(e.Root().LookupPath(path)); rules.Next(); {
			got = append(got, rules.Selector().Unquoted())
		}
	}
	slices.Sort(got)
	if diff := cmp.Diff(publishedRules, got); diff != "" {
		t.Errorf("names of rules: -want +got:\n%s", diff)
	}
}
