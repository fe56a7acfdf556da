//go:build linux

package e2e

import (
	"context"
	"errors"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	trainer "github.com/kubeflow/trainer/v2/pkg/apis/trainer/v1alpha1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trainyard/trainyard/api/jobs"
	"github.com/trainyard/trainyard/api/metrics"
	"github.com/trainyard/trainyard/api/v1alpha1"
	"github.com/trainyard/trainyard/test/build"
	"github.com/trainyard/trainyard/test/jobreport"
	"github.com/trainyard/trainyard/test/poll"
)

// smallQueue is a format string for a LocalQueue, and for a ClusterQueue with quota for two pods. %[1]s stands for the
// namespace of the LocalQueue.
const smallQueue = `
apiVersion: kueue.x-k8s.io/v1beta1
kind: ResourceFlavor
metadata: {name: %[1]s}
---
apiVersion: kueue.x-k8s.io/v1beta1
kind: ClusterQueue
metadata: {name: %[1]s}
spec:
  namespaceSelector: {}
  resourceGroups:
  - coveredResources: [cpu, memory, ephemeral-storage, pods]
    flavors:
    - name: %[1]s
      resources: [{name: cpu, nominalQuota: 100}, {name: memory, nominalQuota: 1Ti}, {name: ephemeral-storage, nominalQuota: 1Ti}, {name: pods, nominalQuota: 2}]
---
apiVersion: kueue.x-k8s.io/v1beta1
kind: LocalQueue
metadata: {name: small, namespace: %[1]s}
spec: {clusterQueue: %[1]s}
`

// wantsKueue reports whether the cluster of the tests must have Kueue.
func wantsKueue() bool { return os.Getenv("TRAINYARD_KUEUE") != "" }

// TestEdgeCaseConcurrentSubmissions submits three TrainJobs at the same time, while another TrainJob uses the whole quota
// of their queue. Each of the three TrainJobs must report a different position in the queue. When the quota is free again,
// the first TrainJob of the queue must run, and the other two must each move up one position.
func TestEdgeCaseConcurrentSubmissions(t *testing.T) {
	t.Parallel()
	if !wantsKueue() {
		t.Skip("needs Kueue: run `make e2e`")
	}
	s := useController(t)
	namespace := s.makeNamespace(t)
	s.createQueue(t, namespace)
	queued := func(name string) *build.TrainJob {
		return build.MakeTrainJob(name, namespace).Runtime("openmpi").Nodes(2).Label("kueue.x-k8s.io/queue-name", "small")
	}
	s.startIdle(t, queued("running"))

	waiting := []string{"a", "b", "c"}
	errs := make([]error, len(waiting))
	var submissions sync.WaitGroup
	for i, name := range waiting {
		submissions.Go(func() { errs[i] = s.client.Create(t.Context(), queued(name).Command("sleep", "600").Obj()) })
	}
	submissions.Wait()
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
	for _, name := range waiting {
		s.expectDiagnosis(t, namespace, name, report{jobs.Suspended, "QueueWaiting|QueueFull", "the waiting time is unknown", []string{"JobSubmitted"}})
	}
	inOrder := s.queueOrder(t, namespace, waiting)

	if err := s.client.Delete(t.Context(), queued("running").Obj()); err != nil {
		t.Fatal(err)
	}
	poll.Until(t, jobTimeout, func(ctx context.Context) error {
		return jobreport.CheckAnnotations(ctx, s.client, client.ObjectKey{Namespace: namespace, Name: inOrder[0]}, jobs.Running, "")
	})
	if got := s.queueOrder(t, namespace, inOrder[1:]); !slices.Equal(got, inOrder[1:]) {
		t.Errorf("the order of the queue is now %q, want %q", got, inOrder[1:])
	}
}

// createQueue creates the LocalQueue "small" in a namespace. It also creates the ClusterQueue of this LocalQueue. The
// ClusterQueue has the name of the namespace.
func (s *sandbox) createQueue(t *testing.T, namespace string) {
	t.Helper()
	queue := fmt.Sprintf(smallQueue, namespace)
	if out, err := s.runKubectl(queue, "apply", "-f", "-"); err != nil {
		t.Fatalf("creating the queue: %v: %s", err, out)
	}
	t.Cleanup(func() {
		if out, err := s.runKubectl(queue, "delete", "--wait=false", "-f", "-"); err != nil {
			t.Errorf("deleting the queue: %v: %s", err, out)
		}
	})
}

var aheadPattern = regexp.MustCompile(`^Waiting in queue small; (\d) jobs? ahead`)

// queueOrder waits until the given TrainJobs have the first positions in the queue "small", and returns their names in the
// order of the queue. The annotations and the metrics must agree about the positions.
func (s *sandbox) queueOrder(t *testing.T, namespace string, names []string) []string {
	t.Helper()
	inOrder := make([]string, len(names))
	poll.Until(t, jobTimeout, func(ctx context.Context) error {
		clear(inOrder)
		var errs []error
		for _, name := range names {
			job := &trainer.TrainJob{}
			errs = append(errs, s.client.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, job))
			message := job.Annotations[v1alpha1.MessageAnnotation]
			for i := range inOrder {
				if match := aheadPattern.FindStringSubmatch(message); match != nil && match[1] == fmt.Sprint(i) {
					inOrder[i] = name
					labels := map[string]string{metrics.LabelNamespace: namespace, metrics.LabelTrainJob: name, metrics.LabelQueue: "small"}
					errs = append(errs, jobreport.CheckValue(metrics.TrainJobQueuePosition, labels, float64(i)))
				}
			}
		}
		if slices.Contains(inOrder, "") {
			errs = append(errs, fmt.Errorf("the order of the queue is %q, want a TrainJob in each position", strings.Join(inOrder, ", ")))
		}
		return errors.Join(errs...)
	})
	return inOrder
}
