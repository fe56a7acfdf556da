package jobs

import (
	"slices"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

func TestCompareWaiting(t *testing.T) {
	workload := func(name string, priority int32, second int, uid types.UID) workloadItem {
		w := workloadItem{ObjectMeta: metav1.ObjectMeta{Name: name, UID: uid, CreationTimestamp: metav1.NewTime(created.Add(time.Duration(second) * time.Second))}}
		w.Spec.Priority = priority
		return w
	}
	waiting := []workloadItem{workload("a", 0, 2, "4"), workload("b", 0, 2, "3"), workload("c", 0, 1, "2"), workload("d", 1, 3, "1")}
	slices.SortFunc(waiting, compareWaiting)
	var got []string
	for _, w := range waiting {
		got = append(got, w.Name)
	}
	if want := []string{"d", "c", "b", "a"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}
