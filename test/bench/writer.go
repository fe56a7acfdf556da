package bench

import (
	"bufio"
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"time"

	"golang.org/x/tools/benchmark/parse"

	"github.com/trainyard/trainyard/test/repo"
)

// WriterResult contains the measured durations of writing 3,000 files into a folder. The durations do not include the
// generation of the files' content.
type WriterResult struct {
	Title string                `json:"title"`
	Wall  Spread[time.Duration] `json:"wall"`
}

// benchmarkWriter runs the Go benchmark of the package "bundles", which measures the elapsed time of writing files.
func (b *bench) benchmarkWriter(rounds int) ([]WriterResult, error) {
	b.progress("measuring the writer")
	root, err := repo.Root()
	if err != nil {
		return nil, err
	}
	cmd := exec.Command("go", "test", "-run", "^$", "-bench", "^BenchmarkReplace$", "-benchtime", "5x", "-count", fmt.Sprint(rounds), "./bundles")
	cmd.Dir, cmd.Env = root, append(os.Environ(), "TMPDIR="+b.dir)
	out, err := cmd.CombinedOutput()
	if err != nil {
		return nil, fmt.Errorf("running the benchmark of bundles: %w\n%s", err, out)
	}
	return readWriter(out)
}

// readWriter parses the output of go test -bench.
func readWriter(out []byte) ([]WriterResult, error) {
	var order []string
	samples := map[string][]Sample{}
	for lines := bufio.NewScanner(bytes.NewReader(out)); lines.Scan(); {
		line, err := parse.ParseLine(lines.Text())
		if err != nil {
			continue // not a benchmark result
		}
		name := strings.TrimPrefix(line.Name, "BenchmarkReplace/")
		if i := strings.LastIndex(name, "-"); i > 0 { // the suffix of the name is the number of processors
			name = name[:i]
		}
		if !slices.Contains(order, name) {
			order = append(order, name)
		}
		samples[name] = append(samples[name], Sample{Wall: time.Duration(line.NsPerOp)})
	}
	if len(order) == 0 {
		return nil, fmt.Errorf("no benchmark in the output of go test: %s", out)
	}
	var results []WriterResult
	for _, name := range order {
		results = append(results, WriterResult{strings.ReplaceAll(name, "_", " "), summarizeSamples(samples[name], wall)})
	}
	return results, nil
}
