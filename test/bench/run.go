// Package bench measures trainyard from outside, as a person or a pipeline sees
// it: whole processes, beside other programs that make the same objects on the
// same machine in the same minutes. Nothing is measured before all of them are
// known to make the same. What the figures mean is said in docs/benchmarks.md.
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

// Options are what a run can be told.
type Options struct {
	Rounds  int            // how often each case is measured, and quick ones more often
	Cases   *regexp.Regexp // the cases to measure, by ID
	Starter string         // a program that calls Start when its first argument is StartWord
	Words   io.Writer      // says what is being done
}

// Run measures. The programs must be there: `make bench` builds them.
func Run(o Options) (*Report, error) {
	dir, err := os.MkdirTemp("", "trainyard-bench-")
	if err != nil {
		return nil, err
	}
	defer func() { _ = os.RemoveAll(dir) }() // what is left is in a folder for what is left
	began := time.Now()
	b := &bench{dir: dir, starter: o.Starter, tell: func(format string, arguments ...any) {
		fmt.Fprintf(o.Words, "%5.0fs  "+format+"\n", append([]any{time.Since(began).Seconds()}, arguments...)...)
	}}
	if b.programs, err = b.findPrograms(); err != nil {
		return nil, err
	}
	r := &Report{Date: today(), Machine: thisMachine(dir), Rounds: o.Rounds}
	if r.Versions, err = versions(b.programs); err != nil {
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
		r.Writer, err = b.writer(o.Rounds)
	}
	return r, err
}

// findPrograms builds trainyard and its function as the others have been built, without C, and finds those.
func (b *bench) findPrograms() (map[string]string, error) {
	root, err := repo.Root()
	if err != nil {
		return nil, err
	}
	b.tell("building trainyard")
	found := map[string]string{"trainyard": b.path("trainyard")}
	cmd := exec.Command("go", "build", "-o", b.dir, "./cmd/trainyard", "./cmd/trainyard-fn")
	cmd.Dir, cmd.Env = root, append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("building trainyard: %w\n%s", err, out)
	}
	for _, name := range []string{"kustomize", "cue"} {
		found[name] = filepath.Join(root, ".tools", "bin", name)
		if _, err := os.Stat(found[name]); err != nil {
			return nil, fmt.Errorf("%w: run `make bench`, which builds it", err)
		}
	}
	return found, nil
}

// prepare makes what cases read.
func (b *bench) prepare() error {
	b.tell("writing documents and what other programs read")
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
	var err error
	if b.acme, err = ofACME(); err != nil {
		return err
	}
	return b.learn()
}

// check runs each case once and compares what it makes.
func (b *bench) check(wanted *regexp.Regexp) ([]Case, error) {
	var cases []Case
	for _, group := range [][]Case{b.starts(), b.works(), b.scales(), b.kustomize(), b.function(), b.cue()} {
		for _, c := range group {
			if !wanted.MatchString(c.ID) {
				continue
			}
			b.tell("looking whether all make the same objects: %s", c.ID)
			s, err := b.sample(c)
			if err != nil {
				return nil, err
			}
			c.turns = turns(s)
			if c.verify != nil {
				if err := c.verify(); err != nil {
					return nil, fmt.Errorf("%s makes something else, so nothing is measured: %w", c.ID, err)
				}
			}
			cases = append(cases, c)
		}
	}
	return cases, nil
}

// A case that is quick is measured often in each round. What else goes on in such a machine doubles the time
// of one run, or does not, and costs little to ask for again.
const (
	quick = 5 * time.Second // of CPU
	often = 3
)

// turns is how often a case is measured in a round.
func turns(s Sample) int {
	if s.CPU < quick {
		return often
	}
	return 1
}

// measure takes the cases in turns, so that what else the machine does falls on
// all alike.
func (b *bench) measure(r *Report, cases []Case) error {
	samples := make([][]Sample, len(cases))
	r.Load = append(r.Load, load())
	for round := range r.Rounds {
		for turn := range often {
			for i, c := range cases {
				if turn >= c.turns {
					continue
				}
				s, err := b.sample(c)
				if err != nil {
					return err
				}
				b.tell("round %d of %d: %-18s %7.3f s of CPU, %7.3f s", round+1, r.Rounds, c.ID, s.CPU.Seconds(), s.Wall.Seconds())
				samples[i] = append(samples[i], s)
			}
		}
		r.Load = append(r.Load, load())
	}
	for i, c := range cases {
		r.Results = append(r.Results, newResult(c, samples[i]))
	}
	return nil
}

// sample runs a case once.
func (b *bench) sample(c Case) (Sample, error) {
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
