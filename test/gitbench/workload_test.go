package gitbench

import (
	"fmt"
	"strings"
	"testing"

	"github.com/trainyard/trainyard/test/gitserver"
)

type workload struct {
	name         string
	namespaces   int // the number of namespaces
	repositories int // the number of repositories of each namespace
	jobs         int // the number of TrainJobs of each repository
}

var (
	typical = workload{"typical", 50, 1, 40}
	large   = workload{"large", 100, 10, 10}
)

const maxNamespaces = 100

func (w workload) countJobs() int         { return w.countRepositories() * w.jobs }
func (w workload) countRepositories() int { return w.namespaces * w.repositories }

// namespace(i) returns the name of the namespace with the number i. The tenant of this namespace has the same name.
func namespace(i int) string { return fmt.Sprintf("team-%03d", i) }

// repository is a Git repository whose TrainJobs are all created in one namespace.
type repository struct {
	namespace, name, url string
	git                  *gitserver.Repository
}

// create creates the workload's repositories on the Git server. Their names begin with the name of
// the system, so that each compared system has its own repositories.
func (w workload) create(t testing.TB, server *gitserver.Server, system string) []repository {
	t.Helper()
	var all []repository
	for i := range w.countRepositories() {
		r := repository{namespace: namespace(i / w.repositories), name: fmt.Sprintf("source-%02d", i%w.repositories)}
		var err error
		if r.git, err = server.NewRepository(strings.Join([]string{system, w.name, r.namespace, r.name}, "-")); err != nil {
			t.Fatal(err)
		}
		r.url = server.HTTP(r.git.Name)
		files := map[string]string{}
		for j := range w.jobs {
			name := fmt.Sprintf("%s-job-%02d", r.name, j)
			files[name+".yaml"] = trainJob(name)
		}
		r.push(t, files)
		all = append(all, r)
	}
	return all
}

func (r repository) push(t testing.TB, files map[string]string) {
	t.Helper()
	if err := r.git.Write(files); err != nil {
		t.Fatal(err)
	}
	if _, err := r.git.Commit("change TrainJobs"); err != nil {
		t.Fatal(err)
	}
}

// trainJob returns a TrainJob as YAML, with fields that users often set.
func trainJob(name string) string {
	return strings.ReplaceAll(`apiVersion: trainer.kubeflow.org/v1alpha1
kind: TrainJob
metadata:
  name: NAME
  labels:
    project: segmentation
spec:
  runtimeRef:
    name: mpi
  trainer:
    numNodes: 4
    command: [mpirun, python3, /opt/train.py]
    args: [--model, resnet50, --epochs, "90", --batch-size, "256", --learning-rate, "0.1"]
    env:
    - name: DATA
      value: /data/imagenet
    - name: CHECKPOINTS
      value: s3://checkpoints/NAME
    - name: NCCL_DEBUG
      value: WARN
`, "NAME", name)
}
