package jobs

import (
	"reflect"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	jobset "sigs.k8s.io/jobset/api/jobset/v1alpha2"
)

// TestEndedJobSetCreatesNoPods checks that the end of a JobSet is found in its conditions, also after StripJobSet.
func TestEndedJobSetCreatesNoPods(t *testing.T) {
	for _, tc := range []struct {
		condition jobset.JobSetConditionType
		status    metav1.ConditionStatus
		want      bool
	}{
		{jobset.JobSetFailed, metav1.ConditionTrue, true},
		{jobset.JobSetCompleted, metav1.ConditionTrue, true},
		{jobset.JobSetFailed, metav1.ConditionFalse, false},
		{jobset.JobSetSuspended, metav1.ConditionTrue, false},
	} {
		set := &jobset.JobSet{}
		job := jobset.ReplicatedJob{Name: "node", Replicas: 1}
		job.Template.Spec.Parallelism = ptr.To[int32](3)
		set.Spec.ReplicatedJobs = []jobset.ReplicatedJob{job}
		set.Status.Conditions = []metav1.Condition{{Type: string(tc.condition), Status: tc.status, Message: "text"}}
		want := WantedPods{Node: {Pods: 3, Ended: tc.want}}
		if got := CountWanted(set); !reflect.DeepEqual(got, want) {
			t.Errorf("%s is %s: %+v, want %+v", tc.condition, tc.status, got, want)
		}
		StripJobSet(set)
		if got := CountWanted(set); !reflect.DeepEqual(got, want) {
			t.Errorf("%s is %s, stripped: %+v, want %+v", tc.condition, tc.status, got, want)
		}
	}
}
