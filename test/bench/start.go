package bench

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"time"
)

// StartWord is the first argument of a process that is to call Start.
const StartWord = "start"

// Command is one process to measure.
type Command struct {
	Args   []string // the program, and what it is given
	Dir    string   // where it runs; the current folder by default
	Output string   // the file that its standard output goes to; nowhere by default
}

// Sample is what one process took, or several one after the other.
type Sample struct {
	CPU  time.Duration `json:"cpu"`  // user and system time, as the operating system counts it
	Wall time.Duration `json:"wall"` // by the clock
	RSS  int64         `json:"rss"`  // the most memory that any of them had at once, in bytes; 0 where nobody counts it
}

// add counts a process that ran after the others.
func (s Sample) add(other Sample) Sample {
	return Sample{CPU: s.CPU + other.CPU, Wall: s.Wall + other.Wall, RSS: max(s.RSS, other.RSS)}
}

// measure runs a command from a small process of its own. Linux counts to a new
// process what its parent had in memory when it started it, and this one has
// whole workloads there. starter is a program that calls Start when its first
// argument is StartWord.
func measure(starter string, c Command) (Sample, error) {
	text, err := json.Marshal(c)
	if err != nil {
		return Sample{}, fmt.Errorf("describing %v: %w", c.Args, err)
	}
	var out, words bytes.Buffer
	cmd := exec.Command(starter, StartWord)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = bytes.NewReader(text), &out, &words
	if err := cmd.Run(); err != nil {
		return Sample{}, fmt.Errorf("running %v: %w: %s", c.Args, err, bytes.TrimSpace(words.Bytes()))
	}
	var s Sample
	if err := json.Unmarshal(out.Bytes(), &s); err != nil {
		return Sample{}, fmt.Errorf("reading what %v took: %w", c.Args, err)
	}
	return s, nil
}

// Start runs the Command that it reads as JSON, and writes a Sample as JSON. What
// the command says on standard error goes to words.
func Start(in io.Reader, out, words io.Writer) error {
	var c Command
	if err := json.NewDecoder(in).Decode(&c); err != nil {
		return fmt.Errorf("reading what to start: %w", err)
	}
	cmd := exec.Command(c.Args[0], c.Args[1:]...)
	cmd.Dir, cmd.Stderr = c.Dir, words
	if c.Output != "" {
		file, err := os.Create(c.Output)
		if err != nil {
			return err
		}
		defer file.Close()
		cmd.Stdout = file
	}
	start := time.Now()
	if err := cmd.Run(); err != nil {
		return err
	}
	state := cmd.ProcessState
	return json.NewEncoder(out).Encode(Sample{
		CPU: state.UserTime() + state.SystemTime(), Wall: time.Since(start), RSS: peakMemory(state),
	})
}
