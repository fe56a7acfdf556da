// Package bench measures the time and memory that trainyard needs. Each Case measures one or more whole processes. The
// package starts these processes in the same way as people and pipelines do. There are separate measurements for the
// code that writes bundles, for the evaluation of Prometheus rules, and for MPI. For comparison, the package also
// measures other programs that generate the same objects. All programs run on the same machine at about the same time.
// Before a measurement, the package checks that all programs generate the same objects, or at least the same number of
// objects. docs/benchmarks.md explains the figures.
package bench

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"time"

	"github.com/trainyard/trainyard/test/repo"
)

// Options configure a run.
type Options struct {
	Rounds   int            // number of measurements of each case; quick cases are measured more often
	Cases    *regexp.Regexp // the cases to measure, by ID
	Starter  string         // the path of a program that calls Start if its first argument is StartArgument
	Progress io.Writer      // receives a line for each step
}

// Run measures the cases and returns a report. Some cases run kustomize, cue or helm, so that the report compares these
// programs with trainyard. `make bench` builds the three programs before Run starts.
func Run(o Options) (*Report, error) {
	dir, err := os.MkdirTemp("", "trainyard-bench-")
	if err != nil {
		return nil, err
	}
	defer func() { _ = os.RemoveAll(dir) }() // errors are ignored, because the folder is temporary
	began := time.Now()
	b := &bench{dir: dir, starter: o.Starter, progress: func(format string, arguments ...any) {
		fmt.Fprintf(o.Progress, "%5.0fs  "+format+"\n", append([]any{time.Since(began).Seconds()}, arguments...)...)
	}}
	if b.programs, err = b.findPrograms(); err != nil {
		return nil, err
	}
	r := &Report{Date: today(), Machine: thisMachine(dir), Rounds: o.Rounds}
	if r.Versions, err = programVersions(b.programs); err != nil {
		return nil, err
	}
	if err := b.prepare(); err != nil {
		return nil, err
	}
	cases, err := b.check(o.Cases)
	if err != nil {
		return nil, err
	}
	if err := b.measure(r, cases); err != nil {
		return nil, err
	}
	if o.Cases.MatchString("writer") {
		r.Writer, err = b.benchmarkWriter(o.Rounds)
	}
	return r, err
}

// findPrograms builds trainyard and trainyard-fn, and returns the paths of trainyard, kustomize, cue and helm. All these
// programs are built without cgo.
func (b *bench) findPrograms() (map[string]string, error) {
	root, err := repo.Root()
	if err != nil {
		return nil, err
	}
	b.progress("building trainyard")
	found := map[string]string{"trainyard": b.path("trainyard")}
	cmd := exec.Command("go", "build", "-o", b.dir, "./cmd/trainyard", "./cmd/trainyard-fn")
	cmd.Dir, cmd.Env = root, append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("building trainyard: %w\n%s", err, out)
	}
	for name, tool := range map[string]string{"kustomize": "kustomize", "cue": "cue", "helm": "helm-4"} {
		found[name] = filepath.Join(root, ".tools", "bin", tool)
		if _, err := os.Stat(found[name]); err != nil {
			return nil, fmt.Errorf("%w: run `make bench` to build this program", err)
		}
	}
	return found, nil
}

// prepare writes the input files of all cases.
func (b *bench) prepare() error {
	b.progress("writing the input of all programs")
	if err := b.writeDocuments(); err != nil {
		return err
	}
	for _, dir := range []string{"checked", "revised"} {
		if err := b.run(b.inFormat("W", "kustomize", b.path(dir))); err != nil {
			return err
		}
	}
	if err := b.writeOverlays(); err != nil {
		return err
	}
	if err := b.writeFunctions(); err != nil {
		return err
	}
	if err := b.writeModule(); err != nil {
		return err
	}
	if err := b.writeTypical(); err != nil {
		return err
	}
	var err error
	if b.acme, err = acmeObjects(); err != nil {
		return err
	}
	return b.readWanted()
}

// check verifies the output of each case whose ID matches the argument "wanted". To get the output, the method runs
// each of these cases once.
func (b *bench) check(wanted *regexp.Regexp) ([]Case, error) {
	typical, err := b.typicalCases()
	if err != nil {
		return nil, err
	}
	var cases []Case
	for _, group := range [][]Case{b.startCases(), typical, b.workloadCases(), b.scaleCases(), b.kustomizeCases(), b.functionCase(), b.cueCases()} {
		for _, c := range group {
			if !wanted.MatchString(c.ID) {
				continue
			}
			b.progress("checking the output of %s", c.ID)
			s, err := b.runOnce(c)
			if err != nil {
				return nil, err
			}
			c.turns = turnsPerRound(s)
			if c.verify != nil {
				if err := c.verify(); err != nil {
					return nil, fmt.Errorf("the output of %s is wrong, so nothing is measured: %w", c.ID, err)
				}
			}
			cases = append(cases, c)
		}
	}
	return cases, nil
}

// Other load on the machine can double the time of a single run. Therefore quick cases are measured several times in
// each round, which needs little additional time.
const (
	quick      = 5 * time.Second // of CPU; a case that takes less is quick
	quickTurns = 3
)

// turnsPerRound returns how often a case is measured in each round.
func turnsPerRound(s Sample) int {
	if s.CPU < quick {
		return quickTurns
	}
	return 1
}

// measure runs the cases in turns, so that other load on the machine affects all cases equally.
func (b *bench) measure(r *Report, cases []Case) error {
	samples := make([][]Sample, len(cases))
	r.Load = append(r.Load, averageLoad())
	for round := range r.Rounds {
		for turn := range quickTurns {
			for i, c := range cases {
				if turn >= c.turns {
					continue
				}
				s, err := b.runOnce(c)
				if err != nil {
					return err
				}
				b.progress("round %d of %d: %-18s %7.3f s of CPU, %7.3f s", round+1, r.Rounds, c.ID, s.CPU.Seconds(), s.Wall.Seconds())
				samples[i] = append(samples[i], s)
			}
		}
		r.Load = append(r.Load, averageLoad())
	}
	for i, c := range cases {
		r.Results = append(r.Results, newResult(c, samples[i]))
	}
	return nil
}

// runOnce runs a case once.
func (b *bench) runOnce(c Case) (Sample, error) {
	if c.prepare != nil {
		if err := c.prepare(); err != nil {
			return Sample{}, fmt.Errorf("preparing %s: %w", c.ID, err)
		}
	}
	var all Sample
	for _, command := range c.commands {
		s, err := measure(b.starter, command)
		if err != nil {
			return Sample{}, err
		}
		all = all.add(s)
	}
	return all, nil
}
