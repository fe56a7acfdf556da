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

// tolerance is how far, relatively, losses may be apart that differ in the order of additions
// only; train.py says why.
const tolerance = 1e-9

// learnt is what train.py writes.
type learnt struct {
	Hosts              []string
	Losses, Parameters []float64
}

func TestTraining(t *testing.T) {
	s := unpacked(t, "training")
	t.Run("does not depend on the number of ranks", func(t *testing.T) { s.compare(t, "/opt/train.py") })
	t.Run("refuses uneven shares", func(t *testing.T) { s.refuse(t, "/opt/train.py") })
	t.Run("has an image that holds what jobs need", func(t *testing.T) { s.check(t, "openmpi") })
}

// TestTrainingWithHorovod: Horovod learns what train.py does, which its image has as well.
func TestTrainingWithHorovod(t *testing.T) {
	if _, err := os.Stat(archive(t, "horovod")); err != nil {
		t.Skip("needs an image: run `make images-horovod`")
	}
	s := unpacked(t, "horovod")
	t.Run("does not depend on the number of ranks", func(t *testing.T) { s.compare(t, "/opt/train_horovod.py") })
	t.Run("refuses uneven shares", func(t *testing.T) { s.refuse(t, "/opt/train_horovod.py") })
	t.Run("has an image that holds what jobs need", func(t *testing.T) { s.check(t, "openmpi") })
}

// compare holds what several ranks learn against what one process of train.py does.
func (s system) compare(t *testing.T, program string) {
	alone := s.train(t, 1, "python3", "/opt/train.py")
	if first, last := alone.Losses[0], alone.Losses[len(alone.Losses)-1]; last > first/100 {
		t.Errorf("the loss only fell from %v to %v", first, last)
	}
	for _, ranks := range []int{2, 4} {
		together := s.train(t, ranks, "mpirun", "-np", strconv.Itoa(ranks), "--oversubscribe", "python3", program)
		if i := apart(alone.Losses, together.Losses); i >= 0 {
			t.Errorf("with %d ranks losses differ from step %d on: %v, want %v", ranks, i, together.Losses, alone.Losses)
		}
		if i := apart(alone.Parameters, together.Parameters); i >= 0 {
			t.Errorf("with %d ranks parameters differ from number %d on: %v, want %v", ranks, i, together.Parameters, alone.Parameters)
		}
	}
}

func (s system) refuse(t *testing.T, program string) {
	out, err := s.run("", "mpirun", "-np", "3", "--oversubscribe", "python3", program, "--samples", "100")
	if want := path.Base(program) + ": 100 samples cannot be shared evenly among 3 ranks\n"; err == nil || !strings.Contains(out, want) {
		t.Errorf("ended with %v and %q, want a failure and %q", err, out, want)
	}
}

// train runs a training, and checks that it printed what it wrote.
func (s system) train(t *testing.T, ranks int, command ...string) learnt {
	t.Helper()
	out, err := s.run("", append(command, "--out", "/tmp/learnt.json")...)
	if err != nil {
		t.Fatalf("%v: %v: %s", command, err, out)
	}
	var got learnt
	if err := json.Unmarshal(s.read(t, "tmp/learnt.json"), &got); err != nil {
		t.Fatal(err)
	}
	if len(got.Hosts) != ranks || len(got.Losses) == 0 || len(got.Parameters) == 0 {
		t.Fatalf("%v: wrote %+v", command, got)
	}
	start := fmt.Sprintf("trained: ranks=%d hosts=1 samples=1200 steps=%d ", ranks, len(got.Losses)-1)
	_, text, _ := strings.Cut(strings.TrimSpace(out), " loss=")
	if loss, err := strconv.ParseFloat(text, 64); err != nil || loss != got.Losses[len(got.Losses)-1] || !strings.Contains(out, start) {
		t.Errorf("%v: printed %q, want %q and the loss %v", command, out, start, got.Losses[len(got.Losses)-1])
	}
	return got
}

// apart is where two lists first differ by more than the tolerance, or -1.
func apart(want, got []float64) int {
	for i := range max(len(want), len(got)) {
		if i >= len(want) || i >= len(got) || !(math.Abs(got[i]-want[i]) <= tolerance*math.Abs(want[i])) {
			return i
		}
	}
	return -1
}

func TestApartSeesWhatDiffers(t *testing.T) {
	cases := map[string]struct {
		want, got []float64
		at        int
	}{
		"equal numbers":              {[]float64{1, 2}, []float64{1, 2}, -1},
		"the last digit":             {[]float64{1, 0.002}, []float64{1, 0.0020000000000000005}, -1},
		"what single precision does": {[]float64{1, 0.002}, []float64{1, 0.002 * (1 + 1e-7)}, 1},
		"a number that is missing":   {[]float64{1, 2}, []float64{1}, 1},
		"no number":                  {[]float64{1}, []float64{math.NaN()}, 0},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if at := apart(tc.want, tc.got); at != tc.at {
				t.Errorf("apart() = %d, want %d", at, tc.at)
			}
		})
	}
}
