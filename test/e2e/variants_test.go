//go:build linux

package e2e

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	trainer "github.com/kubeflow/trainer/v2/pkg/apis/trainer/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trainyard/trainyard/api/jobs"
	"github.com/trainyard/trainyard/test/build"
)

func TestSuspendedJobsRunAfterResume(t *testing.T) {
	t.Parallel()
	s := useCluster(t)
	t.Run("suspended from the start", func(t *testing.T) {
		t.Parallel()
		job := build.MakeTrainJob("sum", s.makeNamespace(t)).Runtime("openmpi").Nodes(2).Suspended()
		key := client.ObjectKeyFromObject(job.Obj())
		s.afterCreation(t, key, func(snapshot jobs.Snapshot) error {
			if !meta.IsStatusConditionTrue(snapshot.Job.Status.Conditions, trainer.TrainJobSuspended) {
				return errors.New("the job is not suspended yet")
			}
			if len(snapshot.Pods) > 0 {
				return fmt.Errorf("the suspended job has %d pods", len(snapshot.Pods))
			}
			return s.suspend(key, false)
		})
		s.expectSum(t, job, []string{"launcher-0-0", "node-0-0"})
	})
	t.Run("suspended while it runs", func(t *testing.T) {
		t.Parallel()
		job := build.MakeTrainJob("sum", s.makeNamespace(t)).Runtime("openmpi").Nodes(2).ProcPerNode(ranksPerHost).
			Command("sh", "-c", "sleep 5; exec mpirun python3 /opt/allreduce.py")
		key := client.ObjectKeyFromObject(job.Obj())
		suspended := false
		s.afterCreation(t, key, func(snapshot jobs.Snapshot) error {
			switch launcher := snapshot.PodsOf(jobs.Launcher); {
			case suspended && len(snapshot.Pods) == 0:
				return s.suspend(key, false)
			case !suspended && len(launcher) == 1 && launcher[0].Status.Phase == corev1.PodRunning:
				suspended = true
				if err := s.suspend(key, true); err != nil {
					t.Error(err)
				}
			}
			return errors.New("the job still has pods")
		})
		if got := s.run(t, job); got.condition != trainer.TrainJobComplete || len(got.ranks) != 2*ranksPerHost {
			t.Errorf("the job has condition %q and ranks %v, want Complete and %d ranks", got.condition, got.ranks, 2*ranksPerHost)
		}
		if !suspended {
			t.Error("the job was never suspended")
		}
	})
}

// afterCreation calls the function "act" repeatedly in the background, from the creation of the job until "act"
// returns nil.
func (s *sandbox) afterCreation(t *testing.T, key client.ObjectKey, act func(jobs.Snapshot) error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), jobTimeout)
	done := make(chan error, 1)
	go func() {
		err := errors.New("the job was never created")
		for ; err != nil && ctx.Err() == nil; time.Sleep(200 * time.Millisecond) {
			var snapshot jobs.Snapshot
			if snapshot, err = s.jobs.Get(ctx, key); err == nil {
				err = act(snapshot)
			}
		}
		done <- err
	}()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Errorf("in the background of the job: %v", err)
		}
	})
}

func (s *sandbox) suspend(key client.ObjectKey, on bool) error {
	out, err := s.runKubectl("", "-n", key.Namespace, "patch", "trainjob", key.Name, "--type=merge", "-p", fmt.Sprintf(`{"spec":{"suspend":%t}}`, on))
	if err != nil {
		return fmt.Errorf("%w: %s", err, out)
	}
	return nil
}

func TestStorageKeepsFilesBetweenJobs(t *testing.T) {
	t.Parallel()
	s := useCluster(t)
	namespace := s.makeNamespace(t)
	s.claim(t, namespace)
	write := build.MakeTrainJob("write", namespace).Runtime("openmpi-storage").Nodes(2).ProcPerNode(ranksPerHost).
		Command("mpirun", "sh", "-c", `uname -n > "/mnt/results/$OMPI_COMM_WORLD_RANK"`)
	if got := s.run(t, write); got.condition != trainer.TrainJobComplete {
		t.Fatalf("the writing job has condition %q", got.condition)
	}
	read := build.MakeTrainJob("read", namespace).Runtime("openmpi-storage").Nodes(2).
		Command("sh", "-c", `cd /mnt/results; for rank in *; do echo "rank $rank was on $(cat "$rank")"; done`)
	got := s.run(t, read)
	want := []string{
		"rank 0 was on write-launcher-0-0", "rank 1 was on write-launcher-0-0",
		"rank 2 was on write-node-0-0", "rank 3 was on write-node-0-0",
	}
	if diff := cmp.Diff(want, got.ranks); diff != "" || got.condition != trainer.TrainJobComplete {
		t.Errorf("the reading job has condition %q, output: -want +got:\n%s", got.condition, diff)
	}
}

func (s *sandbox) claim(t testing.TB, namespace string) {
	t.Helper()
	const name = "results"
	folder := filepath.Join(s.dir, "volumes", namespace)
	if err := os.MkdirAll(folder, 0o700); err != nil {
		t.Fatal(err)
	}
	// Containers can run as another user than this test, and the kubelet does not change the owner of a hostPath
	// folder. Therefore, every user must be able to write to the folder.
	if err := os.Chmod(folder, 0o777); err != nil {
		t.Fatal(err)
	}
	space := corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("100Mi")}
	shared := []corev1.PersistentVolumeAccessMode{corev1.ReadWriteMany}
	volume := &corev1.PersistentVolume{
		ObjectMeta: metav1.ObjectMeta{Name: namespace},
		Spec: corev1.PersistentVolumeSpec{
			Capacity: space, AccessModes: shared,
			PersistentVolumeSource: corev1.PersistentVolumeSource{HostPath: &corev1.HostPathVolumeSource{Path: folder}},
			ClaimRef:               &corev1.ObjectReference{Namespace: namespace, Name: name},
		},
	}
	claim := &corev1.PersistentVolumeClaim{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name},
		Spec: corev1.PersistentVolumeClaimSpec{
			AccessModes: shared, StorageClassName: ptr.To(""), VolumeName: volume.Name,
			Resources: corev1.VolumeResourceRequirements{Requests: space},
		},
	}
	for _, obj := range []client.Object{volume, claim} {
		if err := s.client.Create(t.Context(), obj); err != nil {
			t.Fatal(err)
		}
	}
	t.Cleanup(func() { _, _ = s.runKubectl("", "delete", "pv", volume.Name, "--wait=false") })
}
