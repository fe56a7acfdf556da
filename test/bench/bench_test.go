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

// TestMain calls Start if the first command-line argument is StartArgument. Otherwise, it runs the tests. The function
// "measure" does not start the measured command itself. Instead, "measure" starts a second process with the argument
// StartArgument. The second process calls Start, and Start runs the measured command. If a test calls "measure", the
// second process runs the test binary again, so TestMain also runs in the second process. Therefore TestMain must
// recognize StartArgument.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == StartArgument {
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

func TestMeasureExcludesTheMeasuringProcess(t *testing.T) {
	ballast := bytes.Repeat([]byte{1}, 256<<20)
	idle := sample(t, Command{Args: []string{"sleep", "0.2"}})
	if idle.CPU > 100*time.Millisecond || idle.Wall < 200*time.Millisecond {
		t.Errorf("sleep took %v of CPU in %v, want almost no CPU for 0.2s", idle.CPU, idle.Wall)
	}
	if idle.RSS > 64<<20 {
		t.Errorf("sleep took %d bytes, want at most 64 MiB, though the measuring process has %d bytes", idle.RSS, len(ballast))
	}
	busy := sample(t, Command{Args: []string{"sh", "-c", "i=0; while [ $i -lt 300000 ]; do i=$((i+1)); done"}})
	if busy.CPU < 10*idle.CPU {
		t.Errorf("counting took %v of CPU, want at least 10 times the CPU of sleep, which is %v", busy.CPU, idle.CPU)
	}
}

func TestMeasureWritesOutputToAFile(t *testing.T) {
	dir := t.TempDir()
	sample(t, Command{Args: []string{"sh", "-c", "pwd -P"}, Dir: dir, Output: filepath.Join(dir, "out")})
	text, err := os.ReadFile(filepath.Join(dir, "out"))
	if err != nil || filepath.Base(strings.TrimSpace(string(text))) != filepath.Base(dir) {
		t.Errorf("the command's output is %q, %v, want %s", text, err, dir)
	}
}

func TestMeasureReportsStderrOfFailedCommands(t *testing.T) {
	starter, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	if _, err = measure(starter, Command{Args: []string{"sh", "-c", "echo no such runtime >&2; exit 3"}}); err == nil || !strings.Contains(err.Error(), "no such runtime") {
		t.Errorf("measure() = %v, want an error with the command's standard error", err)
	}
}

// TestQuickCasesAreMeasuredMoreOften checks the number of samples of each case, and the order in which the cases run.
func TestQuickCasesAreMeasuredMoreOften(t *testing.T) {
	starter, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	var ran []string
	named := func(id string, took time.Duration) Case {
		return Case{ID: id, turns: turnsPerRound(Sample{CPU: took}), commands: []Command{{Args: []string{"true"}}}, prepare: func() error {
			ran = append(ran, id)
			return nil
		}}
	}
	b, r := &bench{starter: starter, progress: func(string, ...any) {}}, &Report{Rounds: 2}
	if err := b.measure(r, []Case{named("one", time.Second), named("slow", time.Minute), named("other", 0)}); err != nil {
		t.Fatal(err)
	}
	round := []string{"one", "slow", "other", "one", "other", "one", "other"}
	if diff := cmp.Diff(append(round, round...), ran); diff != "" {
		t.Errorf("cases in the order in which they ran: -want +got:\n%s", diff)
	}
	if len(r.Load) != 3 || len(r.Results) != 3 || len(r.Results[0].Samples) != 6 || len(r.Results[1].Samples) != 2 {
		t.Errorf("report %+v, want 3 values of the load, 6 samples of the quick cases, and 2 of the slow one", r)
	}
}

func TestSpread(t *testing.T) {
	cases := map[string]struct {
		seconds []int
		want    Spread[time.Duration]
	}{
		"one sample":                     {[]int{3}, Spread[time.Duration]{3, 3, 3}},
		"unordered samples":              {[]int{5, 1, 9}, Spread[time.Duration]{5, 1, 9}},
		"the lower of two middle values": {[]int{4, 1, 2, 3}, Spread[time.Duration]{2, 1, 4}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			var samples []Sample
			for _, s := range tc.seconds {
				samples = append(samples, Sample{Wall: time.Duration(s)})
			}
			if diff := cmp.Diff(tc.want, summarizeSamples(samples, wall)); diff != "" {
				t.Errorf("spread(): -want +got:\n%s", diff)
			}
		})
	}
}

func TestExponent(t *testing.T) {
	cases := map[string]struct {
		points []point
		want   float64
	}{
		"twice the objects, twice the time":      {[]point{{100, 1}, {200, 2}, {1000, 10}}, 1},
		"twice the objects, four times the time": {[]point{{100, 1}, {200, 4}}, 2},
		"a constant startup time, subtracted":    {withoutStartup([]point{{100, 1.5}, {200, 2.5}, {400, 4.5}}, 0.5), 1},
		"points that are not on a line":          {[]point{{1, 1}, {10, 100}, {100, 100}}, 1},
		"one point is too few":                   {[]point{{100, 1}}, math.NaN()},
		"points with the same size":              {[]point{{100, 1}, {100, 2}}, math.NaN()},
		"less time than the startup time":        {withoutStartup([]point{{100, 0.1}, {200, 3}}, 0.5), math.NaN()},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got := growthExponent(tc.points)
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
		t.Errorf("readWriter() returns error %v, -want +got:\n%s", err, diff)
	}
	if _, err := readWriter([]byte("PASS\n")); err == nil {
		t.Error("readWriter() of output without benchmarks succeeded, want an error")
	}
}
