//go:build linux

package images

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path"
	"strconv"
	"strings"
	"testing"
)

func TestTraining(t *testing.T) {
	s := unpackImage(t, "training")
	t.Run("results do not depend on the number of ranks", func(t *testing.T) { s.compareResults(t, "/opt/train.py") })
	t.Run("uneven shares are refused", func(t *testing.T) { s.checkRefusal(t, "/opt/train.py") })
	t.Run("the image passes check-image.sh", func(t *testing.T) { s.check(t, "openmpi") })
}

// TestTrainingWithHorovod checks that train_horovod.py gives the same results as train.py.
func TestTrainingWithHorovod(t *testing.T) {
	if _, err := os.Stat(archivePath(t, "horovod")); err != nil {
		t.Skip("needs an image: run `make images-horovod`")
	}
	s := unpackImage(t, "horovod")
	t.Run("results do not depend on the number of ranks", func(t *testing.T) { s.compareResults(t, "/opt/train_horovod.py") })
	t.Run("uneven shares are refused", func(t *testing.T) { s.checkRefusal(t, "/opt/train_horovod.py") })
	t.Run("the image passes check-image.sh", func(t *testing.T) { s.check(t, "openmpi") })
}

func (s system) compareResults(t *testing.T, program string) {
	single := s.runTraining(t, 1, "python3", "/opt/train.py")
	if first, last := single.Losses[0], single.Losses[len(single.Losses)-1]; last > first/100 {
		t.Errorf("the loss fell from %v to %v, want a hundredth", first, last)
	}
	for _, ranks := range []int{2, 4} {
		parallel := s.runTraining(t, ranks, "mpirun", "-np", strconv.Itoa(ranks), "--oversubscribe", "python3", program)
		if i := firstDifference(single.Losses, parallel.Losses); i >= 0 {
			t.Errorf("with %d ranks losses differ from step %d: %v, want %v", ranks, i, parallel.Losses, single.Losses)
		}
		if i := firstDifference(single.Parameters, parallel.Parameters); i >= 0 {
			t.Errorf("with %d ranks parameters differ from number %d: %v, want %v", ranks, i, parallel.Parameters, single.Parameters)
		}
	}
}

func (s system) checkRefusal(t *testing.T, program string) {
	out, err := s.run("", "mpirun", "-np", "3", "--oversubscribe", "python3", program, "--samples", "100")
	if want := path.Base(program) + ": 100 samples cannot be shared evenly among 3 ranks\n"; err == nil || !strings.Contains(out, want) {
		t.Errorf("the program ended with %v and %q, want a failure and %q", err, out, want)
	}
}

func (s system) runTraining(t *testing.T, ranks int, command ...string) TrainingResult {
	t.Helper()
	out, err := s.run("", append(command, "--out", "/tmp/result.json")...)
	if err != nil {
		t.Fatalf("%v: %v: %s", command, err, out)
	}
	var got TrainingResult
	if err := json.Unmarshal(s.read(t, "tmp/result.json"), &got); err != nil {
		t.Fatal(err)
	}
	if len(got.Hosts) != ranks || len(got.Losses) == 0 || len(got.Parameters) == 0 {
		t.Fatalf("%v: wrote %+v, want %d hosts, losses and parameters", command, got, ranks)
	}
	start := fmt.Sprintf("trained: ranks=%d hosts=1 samples=1200 steps=%d ", ranks, len(got.Losses)-1)
	_, text, _ := strings.Cut(strings.TrimSpace(out), " loss=")
	if loss, err := strconv.ParseFloat(text, 64); err != nil || loss != got.Losses[len(got.Losses)-1] || !strings.Contains(out, start) {
		t.Errorf("%v: printed %q, want %q and the loss %v", command, out, start, got.Losses[len(got.Losses)-1])
	}
	return got
}

// firstDifference returns the first index at which the relative difference between the two elements is larger than
// Tolerance. If one slice is shorter, the first index after its end also counts as a difference. If there is no
// difference, firstDifference returns -1.
func firstDifference(want, got []float64) int {
	for i := range max(len(want), len(got)) {
		if i >= len(want) || i >= len(got) || !(math.Abs(got[i]-want[i]) <= Tolerance*math.Abs(want[i])) {
			return i
		}
	}
	return -1
}

func TestFirstDifference(t *testing.T) {
	cases := map[string]struct {
		want, got []float64
		at        int
	}{
		"equal numbers":            {[]float64{1, 2}, []float64{1, 2}, -1},
		"the last digit":           {[]float64{1, 0.002}, []float64{1, 0.0020000000000000005}, -1},
		"single precision":         {[]float64{1, 0.002}, []float64{1, 0.002 * (1 + 1e-7)}, 1},
		"a number that is missing": {[]float64{1, 2}, []float64{1}, 1},
		"no number":                {[]float64{1}, []float64{math.NaN()}, 0},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if at := firstDifference(tc.want, tc.got); at != tc.at {
				t.Errorf("firstDifference() = %d, want %d", at, tc.at)
			}
		})
	}
}
