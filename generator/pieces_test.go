package generator

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/trainyard/trainyard"
)

// TestComponentsAreMadeOnce: for all runtimes that do not differ in what a component reads, whatever
// their bases, and for all environments.
func TestComponentsAreMadeOnce(t *testing.T) {
	text := platformOf("{}", map[string]string{
		"a": "{from: mpich, image: a/b:1}",
		"b": "{from: openmpi-cpu, image: a/b:2, nodeSelector: {a: b}}",
		"c": "{from: openmpi-cpu, image: a/b:3, user: 7, env: {A: x}}",
	})
	s, err := New(trainyard.CUE).load(t.Context(), Request{Layers: []Input{{Name: "p.yaml", Text: []byte(text)}}})
	if err != nil {
		t.Fatal(err)
	}
	works, err := s.split([]string{"dev"})
	if err != nil {
		t.Fatal(err)
	}
	if err := checkAll(t.Context(), s, works); err != nil {
		t.Fatal(err)
	}
	made := map[string]int{}
	err = s.engines.use(func(on *engine) {
		all := newPool()
		for _, kin := range kinOf(jobsOf(works)) {
			family := &family{engine: on, pool: all}
			for _, j := range kin {
				if a := j.work.answer(family, j.request); a.err != nil {
					t.Error(a.err)
				}
			}
		}
		for by, memo := range all.pieces {
			for _, g := range memo.groups {
				made[by.name] += len(g.made)
			}
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]int{
		"runtime": 3, "mpirun": 1, "sshd": 1, "launcherIdentity": 1, "nodeIdentity": 1,
		"preflight":   2, // by base
		"launcherEnv": 3, "nodeEnv": 2,
	}
	if diff := cmp.Diff(want, made); diff != "" {
		t.Errorf("pieces: -want +got:\n%s", diff)
	}
}
