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

// StartArgument is the first command-line argument of each process that the function "measure" starts. If the first
// command-line argument of a process is StartArgument, the process must call Start.
const StartArgument = "start"

// Command is one process to measure.
type Command struct {
	Args   []string // the program and its arguments
	Dir    string   // the working directory; the current folder by default
	Output string   // the file for its standard output; discarded by default
}

// Sample is the cost of one process, or of several processes that ran one after the other.
type Sample struct {
	CPU  time.Duration `json:"cpu"`  // user and system time, as the operating system counts them
	Wall time.Duration `json:"wall"` // elapsed time
	RSS  int64         `json:"rss"`  // peak memory of the largest process, in bytes; 0 if unknown
}

// add combines this sample with the sample of a process that ran later. The result contains the sum of the times,
// and the larger peak memory.
func (s Sample) add(other Sample) Sample {
	return Sample{CPU: s.CPU + other.CPU, Wall: s.Wall + other.Wall, RSS: max(s.RSS, other.RSS)}
}

// measure lets a small separate process start a command, and returns the cost of the command. On Linux, the peak memory
// of a command includes the memory of the process that starts the command. The process of the benchmarks holds whole
// workloads in memory. If this process started the command itself, the measured peak memory would be too large. The
// parameter "starter" is the path of the program that the separate process runs. The function "measure" passes
// StartArgument to this program as the first command-line argument, and the program must then call Start.
func measure(starter string, c Command) (Sample, error) {
	text, err := json.Marshal(c)
	if err != nil {
		return Sample{}, fmt.Errorf("describing %v: %w", c.Args, err)
	}
	var out, stderr bytes.Buffer
	cmd := exec.Command(starter, StartArgument)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = bytes.NewReader(text), &out, &stderr
	if err := cmd.Run(); err != nil {
		return Sample{}, fmt.Errorf("running %v: %w: %s", c.Args, err, bytes.TrimSpace(stderr.Bytes()))
	}
	var s Sample
	if err := json.Unmarshal(out.Bytes(), &s); err != nil {
		return Sample{}, fmt.Errorf("reading the cost of %v: %w", c.Args, err)
	}
	return s, nil
}

// Start reads a Command as JSON from the reader "in", runs the command, and writes its Sample as JSON to the writer
// "out". The standard error of the command goes to the writer "stderr".
func Start(in io.Reader, out, stderr io.Writer) error {
	var c Command
	if err := json.NewDecoder(in).Decode(&c); err != nil {
		return fmt.Errorf("reading the command to start: %w", err)
	}
	cmd := exec.Command(c.Args[0], c.Args[1:]...)
	cmd.Dir, cmd.Stderr = c.Dir, stderr
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
