package diagnosis

import (
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"
)

// sample is an entry of testdata/samples.yaml. The field Text contains a text that a program or Kubernetes writes. The
// field Code names the failure that Diagnose must find in this text.
type sample struct {
	Code   string `yaml:"code"`
	Source Source `yaml:"source"`
	Text   string `yaml:"text"`
}

func readSamples(t testing.TB) []sample {
	t.Helper()
	text, err := os.ReadFile("testdata/samples.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var all []sample
	if err := yaml.Unmarshal(text, &all); err != nil {
		t.Fatal(err)
	}
	return all
}

func codes(found []Diagnosis) []string {
	all := []string{}
	for _, d := range found {
		all = append(all, d.Code)
	}
	return all
}

// TestSamples checks that Diagnose finds exactly the expected failure in each sample, and that each failure in the catalogue
// has a sample.
func TestSamples(t *testing.T) {
	missing := codes(nil)
	for _, f := range Catalogue() {
		missing = append(missing, f.Code)
	}
	for _, s := range readSamples(t) {
		got := codes(Diagnose([]Text{{Source: s.Source, Message: s.Text}}))
		if !slices.Equal(got, []string{s.Code}) {
			t.Errorf("%q in %q, want %s", got, s.Text, s.Code)
		}
		missing = slices.DeleteFunc(missing, func(code string) bool { return code == s.Code })
	}
	if len(missing) > 0 {
		t.Errorf("no samples for %q", missing)
	}
}

func TestSymptomsComeLast(t *testing.T) {
	level := map[string]Level{}
	for _, f := range Catalogue() {
		level[f.Code] = f.Level
	}
	for _, a := range readSamples(t) {
		for _, b := range readSamples(t) {
			if level[a.Code] != Symptom || level[b.Code] == Symptom {
				continue
			}
			symptom, cause := Text{Source: a.Source, Message: a.Text}, Text{Source: b.Source, Message: b.Text}
			for _, texts := range [][]Text{{symptom, cause}, {cause, symptom}} {
				if got := codes(Diagnose(texts)); got[0] != b.Code {
					t.Errorf("%q: want %s first", got, b.Code)
				}
			}
		}
	}
}

// TestEvidence checks that evidence is one line of at most 300 characters, plus an ellipsis. The line
// must not contain control characters or secrets.
func TestEvidence(t *testing.T) {
	line := "\x1b[31mModuleNotFoundError: No module named 'a'\a HF_TOKEN=hf_abcdefghijklmnopqrstuvwxyz " + strings.Repeat("ü", 400)
	found := Diagnose([]Text{{Source: Log, Message: "first\n" + line + "\nlast"}})
	if len(found) != 1 || found[0].Line != 2 {
		t.Fatalf("found %+v, want one failure in line 2", found)
	}
	got := found[0].Evidence
	if !strings.HasPrefix(got, "ModuleNotFoundError: No module named 'a'� HF_TOKEN=[secret] ü") || utf8.RuneCountInString(got) > maxEvidence+1 {
		t.Errorf("evidence %q", got)
	}
}

// TestCancelledDeletionIsNoFailure: Diagnose must ignore an event that cancels the deletion of a pod. This event has
// the same reason as the event about the deletion: TaintManagerEviction.
func TestCancelledDeletionIsNoFailure(t *testing.T) {
	event := func(message string) []string {
		return codes(Diagnose([]Text{{Source: Cluster, Message: "TaintManagerEviction: " + message + " team/bert-node-0-0-abcde"}}))
	}
	if got := event("Marking for deletion Pod"); !slices.Equal(got, []string{"NodeLost"}) {
		t.Errorf("a deletion is %q, want NodeLost", got)
	}
	if got := event("Cancelling deletion of Pod"); len(got) > 0 {
		t.Errorf("a cancelled deletion is %q, want no failure", got)
	}
}

// TestEndOfTracebackIsEvidence: the last line of a traceback must be the evidence, even if mpirun or torchrun writes
// the number of the rank before each line.
func TestEndOfTracebackIsEvidence(t *testing.T) {
	for _, prefix := range []string{"", "[1,3]<stderr>:", "[rank3]: "} {
		lines := []string{"Traceback (most recent call last):", "  File \"train.py\", line 3, in <module>", "    main()", "acme.DataError: no data", "step 5: Error: none"}
		found := Diagnose([]Text{{Source: Log, Message: prefix + strings.Join(lines, "\n"+prefix)}})
		if len(found) != 1 || found[0].Line != 4 || found[0].Evidence != prefix+"acme.DataError: no data" {
			t.Errorf("found %+v", found)
		}
	}
	found := Diagnose([]Text{{Source: Log, Message: "Traceback (most recent call last):\n  cut off"}})
	if len(found) != 1 || found[0].Line != 1 {
		t.Errorf("without end: found %+v", found)
	}
}

// TestLastTracebackExplains: Diagnose must report the exception of the last traceback. Exceptions that the program
// handled, and warnings before the last traceback, must not be reported.
func TestLastTracebackExplains(t *testing.T) {
	traceback := func(exception string) string {
		return "Traceback (most recent call last):\n  File \"a.py\"\n" + exception + "\n"
	}
	for name, tc := range map[string]struct {
		log  string
		want []string // code and evidence
	}{
		"two tracebacks":               {traceback("acme.CommError: handled") + "step 2\n" + traceback("ValueError: fatal"), []string{"PythonException ValueError: fatal"}},
		"a warning":                    {"a.py:3: UserWarning: CUDA initialization: Found no NVIDIA driver on your system\n" + traceback("ValueError: fatal"), []string{"PythonException ValueError: fatal"}},
		"a handled failure":            {"[Errno 2] No such file or directory: 'cache'\n" + traceback("ValueError: fatal"), []string{"PythonException ValueError: fatal"}},
		"a known exception":            {traceback("FileNotFoundError: [Errno 2] No such file or directory: 'a'"), []string{"FileMissing FileNotFoundError: [Errno 2] No such file or directory: 'a'"}},
		"torchrun's own exception":     {traceback("ValueError: fatal") + traceback("torch.distributed.elastic.multiprocessing.errors.ChildFailedError:"), []string{"PythonException ValueError: fatal", "TorchrunFailed torch.distributed.elastic.multiprocessing.errors.ChildFailedError:"}},
		"the end of a traceback":       {"  File \"a.py\", line 3, in f\n    raise DiskError('No space left on device')\nValueError: fatal\n", []string{"PythonException ValueError: fatal"}},
		"an ignored exception":         {"Exception ignored in: <function f>\n" + traceback("AssertionError: can only test a child process") + "step 2\n", nil},
		"an incomplete traceback":      {"OSError: [Errno 28] No space left on device\nTraceback (most recent call last):\n  File \"a.py\", line 3, in f\n", []string{"DiskFull OSError: [Errno 28] No space left on device"}},
		"tracebacks of two processes":  {"Traceback (most recent call last):\nmain()Traceback (most recent call last):\n  File \"a.py\", line 3, in f\n" + "    f()\nmain()  File\nValueError: fatal\n", []string{"PythonException ValueError: fatal"}},
		"an exception without message": {traceback("StopIteration"), []string{"PythonException StopIteration"}},
		"times before each line":       {"10:00:01 Traceback (most recent call last):\n10:00:01   File\n10:00:02 KeyError: 'a'\n", []string{"PythonException 10:00:02 KeyError: 'a'"}},
		"a line of progress":           {"step 1\rstep 2\rModuleNotFoundError: No module named 'a'", []string{"PythonModuleMissing ModuleNotFoundError: No module named 'a'"}},
	} {
		t.Run(name, func(t *testing.T) {
			var got []string
			for _, d := range Diagnose([]Text{{Source: Log, Message: tc.log}}) {
				got = append(got, d.Code+" "+d.Evidence)
			}
			if !slices.Equal(got, tc.want) {
				t.Errorf("%q, want %q", got, tc.want)
			}
		})
	}
}

// TestCountIsTheNumberOfTexts: a text that shows the same failure in several lines must count once.
func TestCountIsTheNumberOfTexts(t *testing.T) {
	for name, line := range map[string]string{
		"a failure in the catalogue": "ModuleNotFoundError: No module named 'a'\n",
		"an unknown exception":       "acme.DataError: no data\n",
	} {
		found := Diagnose([]Text{{Source: Log, Message: strings.Repeat(line, 3)}, {Source: Log, Message: line}})
		if len(found) != 1 || found[0].Count != 2 || found[0].Line != 1 {
			t.Errorf("%s: found %+v, want one failure in two texts", name, found)
		}
	}
}

// TestEvidenceShowsTheMatch: if a log line is longer than maxEvidence, the evidence must contain the text that matched a
// pattern. The evidence must not contain any part of the secret at the start of the line.
func TestEvidenceShowsTheMatch(t *testing.T) {
	line := "HF_TOKEN=hf_" + strings.Repeat("a", 90) + strings.Repeat(" progress", 1000) + " ModuleNotFoundError: No module named 'a'" + strings.Repeat(" more", 1000)
	found := Diagnose([]Text{{Source: Log, Message: line}})
	if len(found) != 1 || !strings.Contains(found[0].Evidence, "ModuleNotFoundError: No module named 'a'") || strings.Contains(found[0].Evidence, "aaa") {
		t.Errorf("found %+v", found)
	}
}

// cleanLines contains formats of log lines that successful trainings print. Each %d is a number.
var cleanLines = []string{
	"Epoch %d/%d: 100%%|##########| %d/%d [00:%d<00:00, %d it/s, loss=0.%d]",
	"[1,%d]<stdout>:step %d loss 0.%d lr 1e-0%d grad_norm %d tokens %d",
	"bert-node-0-%d:%d:%d [%d] NCCL INFO Channel %d/0 : 0[0] -> 1[1] via P2P/IPC/read",
	"bert-node-0-%d:%d [0] NCCL INFO Bootstrap : Using eth0:10.128.%d.%d<0>",
	"bert-node-0-%d:%d [0] NCCL INFO NET/IB : No device found.",
	"Warning: Permanently added '[bert-node-0-%d.bert]:2222' (ED25519) to the list of known hosts.",
	"2026-11-27 10:%d:%d INFO checkpoint: saved step %d to /data/checkpoints/%d.pt in %d ms",
	"Server listening on 0.0.0.0 port %d.",
	"Accepted publickey for mpiuser from 10.128.%d.%d port %d ssh2: ED25519",
	"Received disconnect from 10.128.%d.%d port %d:11: disconnected by user",
	"/usr/lib/python3.11/site-packages/torch/utils.py:%d: UserWarning: lr_scheduler.step() is called before optimizer.step()",
	"[%d] horovod: cycle time %d ms, fused %d tensors, %d bytes",
	"memory: allocated %d MiB, reserved %d MiB, peak %d MiB of %d MiB; no out of memory so far",
	"validation: accuracy 0.%d, %d of %d samples, %d errors in labels were ignored",
	"data loader: retry %d after timeout of %d ms, connection restored",
	"[W socket.cpp:601] [c10d] The IPv6 network addresses of (bert-node-0-%d, 29500) cannot be retrieved (gai error: -2 - Name or service not known).",
	"A matching Triton is not available, some optimizations will not be enabled. Error caught was: No module named 'triton'",
	"I tensorflow/compiler/xla/cuda_driver.cc:%d] failed to allocate 256.00M from device: CUDA_ERROR_OUT_OF_MEMORY: out of memory",
	"GPU health check: %d uncorrectable ECC errors",
	"bert-node-0-%d:%d [0] NCCL WARN NET/IB : mlx5_1:1 Got async event : client reregistration",
	"Connection closed by 10.128.%d.%d port %d",
	"Unable to load host key: /etc/ssh/ssh_host_ecdsa_key",
	"INFO: 'exit code' is a field of the results table, row %d",
}

func cleanLog(bytes int) string {
	random := rand.New(rand.NewPCG(3, 4))
	var log strings.Builder
	for log.Len() < bytes {
		format := cleanLines[random.IntN(len(cleanLines))]
		numbers := make([]any, strings.Count(format, "%d"))
		for i := range numbers {
			numbers[i] = random.IntN(100_000)
		}
		fmt.Fprintf(&log, format+"\n", numbers...)
	}
	return log.String()
}

func TestCleanLogsHaveNoFailures(t *testing.T) {
	if found := Diagnose([]Text{{Source: Log, Message: cleanLog(10 << 20)}}); len(found) > 0 {
		t.Errorf("found %s in %q", found[0].Code, found[0].Evidence)
	}
}

func BenchmarkDiagnose(b *testing.B) {
	text := Text{Source: Log, Message: cleanLog(1<<20) + "torch.OutOfMemoryError: CUDA out of memory.\n"}
	b.SetBytes(int64(len(text.Message)))
	for b.Loop() {
		if found := Diagnose([]Text{text}); len(found) != 1 {
			b.Fatal(found)
		}
	}
}

func FuzzDiagnose(f *testing.F) {
	for _, s := range readSamples(f) {
		f.Add(string(s.Source), s.Text)
	}
	f.Fuzz(func(t *testing.T, source, text string) {
		for _, d := range Diagnose([]Text{{Source: Source(source), Message: text}}) {
			if utf8.RuneCountInString(d.Evidence) > maxEvidence+1 || strings.ContainsAny(d.Evidence, "\x1b\n\r\x00\a") {
				t.Errorf("evidence %q", d.Evidence)
			}
		}
	})
}
