package bench

import (
	"bytes"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// TestMain lets this program start commands for measure, as cmd/bench does.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == StartWord {
		if err := Start(os.Stdin, os.Stdout, os.Stderr); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

func sample(t *testing.T, c Command) Sample {
	t.Helper()
	starter, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	s, err := measure(starter, c)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// TestMeasureCountsTheCommandAlone: neither the time nor the memory of the
// process that measures.
func TestMeasureCountsTheCommandAlone(t *testing.T) {
	ballast := bytes.Repeat([]byte{1}, 256<<20)
	idle := sample(t, Command{Args: []string{"sleep", "0.2"}})
	if idle.CPU > 100*time.Millisecond || idle.Wall < 200*time.Millisecond {
		t.Errorf("sleeping took %v of CPU in %v", idle.CPU, idle.Wall)
	}
	if idle.RSS > 64<<20 {
		t.Errorf("sleeping took %d bytes beside a process with %d", idle.RSS, len(ballast))
	}
	busy := sample(t, Command{Args: []string{"sh", "-c", "i=0; while [ $i -lt 300000 ]; do i=$((i+1)); done"}})
	if busy.CPU < 10*idle.CPU {
		t.Errorf("counting took %v of CPU, and sleeping %v", busy.CPU, idle.CPU)
	}
}

func TestMeasureWritesWhatTheCommandPrints(t *testing.T) {
	dir := t.TempDir()
	sample(t, Command{Args: []string{"sh", "-c", "pwd -P"}, Dir: dir, Output: filepath.Join(dir, "out")})
	text, err := os.ReadFile(filepath.Join(dir, "out"))
	if err != nil || filepath.Base(strings.TrimSpace(string(text))) != filepath.Base(dir) {
		t.Errorf("wrote %q, %v, want %s", text, err, dir)
	}
}

func TestMeasureTellsWhyACommandFailed(t *testing.T) {
	starter, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	if _, err = measure(starter, Command{Args: []string{"sh", "-c", "echo no such runtime >&2; exit 3"}}); err == nil || !strings.Contains(err.Error(), "no such runtime") {
		t.Errorf("measure() = %v, want what the command said", err)
	}
}

// TestQuickCasesAreMeasuredOften: in turns, too.
func TestQuickCasesAreMeasuredOften(t *testing.T) {
	starter, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	var ran []string
	named := func(id string, took time.Duration) Case {
		return Case{ID: id, turns: turns(Sample{CPU: took}), commands: []Command{{Args: []string{"true"}}}, prepare: func() error {
			ran = append(ran, id)
			return nil
		}}
	}
	b, r := &bench{starter: starter, tell: func(string, ...any) {}}, &Report{Rounds: 2}
	if err := b.measure(r, []Case{named("one", time.Second), named("slow", time.Minute), named("other", 0)}); err != nil {
		t.Fatal(err)
	}
	round := []string{"one", "slow", "other", "one", "other", "one", "other"}
	if diff := cmp.Diff(append(round, round...), ran); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	if len(r.Load) != 3 || len(r.Results) != 3 || len(r.Results[0].Samples) != 6 || len(r.Results[1].Samples) != 2 {
		t.Errorf("%+v, want the load around 2 rounds, 6 samples of what is quick, and 2 of what is not", r)
	}
}

func TestSpread(t *testing.T) {
	cases := map[string]struct {
		seconds []int
		want    Spread[time.Duration]
	}{
		"one sample is everything":       {[]int{3}, Spread[time.Duration]{3, 3, 3}},
		"the order is no matter":         {[]int{5, 1, 9}, Spread[time.Duration]{5, 1, 9}},
		"of two in the middle the lower": {[]int{4, 1, 2, 3}, Spread[time.Duration]{2, 1, 4}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			var samples []Sample
			for _, s := range tc.seconds {
				samples = append(samples, Sample{Wall: time.Duration(s)})
			}
			if diff := cmp.Diff(tc.want, spread(samples, wall)); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

func TestExponent(t *testing.T) {
	cases := map[string]struct {
		points []point
		want   float64
	}{
		"twice the objects, twice the time":       {[]point{{100, 1}, {200, 2}, {1000, 10}}, 1},
		"twice the objects, four times the time":  {[]point{{100, 1}, {200, 4}}, 2},
		"a start that is the same for all":        {less([]point{{100, 1.5}, {200, 2.5}, {400, 4.5}}, 0.5), 1},
		"points that do not lie on a line":        {[]point{{1, 1}, {10, 100}, {100, 100}}, 1},
		"one point tells nothing":                 {[]point{{100, 1}}, math.NaN()},
		"points at one place tell nothing":        {[]point{{100, 1}, {100, 2}}, math.NaN()},
		"less time than starting takes is absurd": {less([]point{{100, 0.1}, {200, 3}}, 0.5), math.NaN()},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got := exponent(tc.points)
			if math.IsNaN(tc.want) != math.IsNaN(got) || math.Abs(got-tc.want) > 1e-9 {
				t.Errorf("exponent() = %v, want %v", got, tc.want)
			}
		})
	}
}

func TestReadWriter(t *testing.T) {
	out := `goos: linux
BenchmarkReplace/new_folder-2         	       5	 200000000 ns/op
BenchmarkReplace/one_changed-2        	       5	  50000000 ns/op
BenchmarkReplace/new_folder-2         	       5	 300000000 ns/op
PASS
`
	got, err := readWriter([]byte(out))
	want := []WriterResult{
		{"new folder", Spread[time.Duration]{200 * time.Millisecond, 200 * time.Millisecond, 300 * time.Millisecond}},
		{"one changed", Spread[time.Duration]{50 * time.Millisecond, 50 * time.Millisecond, 50 * time.Millisecond}},
	}
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Errorf("readWriter() fails with %v, -want +got:\n%s", err, diff)
	}
	if _, err := readWriter([]byte("PASS\n")); err == nil {
		t.Error("a run without benchmarks passes")
	}
}
