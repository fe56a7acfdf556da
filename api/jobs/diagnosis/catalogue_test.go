package diagnosis

import (
	"regexp"
	"slices"
	"strings"
	"testing"
)

func TestCatalogueIsComplete(t *testing.T) {
	code := regexp.MustCompile(`^[A-Z][A-Za-z]+$`)
	seen := map[string]bool{}
	all, err := readCatalogue(catalogueText)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range all {
		switch {
		case !code.MatchString(f.Code) || seen[f.Code]:
			t.Errorf("the code %q is invalid or repeated", f.Code)
		case !slices.Contains([]Level{Cause, General, Symptom}, f.Level), !slices.Contains(origins, f.Origin),
			!slices.Contains([]Retry{RetryNever, RetryAgain, RetryWait}, f.Retry):
			t.Errorf("%s: level %q, origin %q, retry %q", f.Code, f.Level, f.Origin, f.Retry)
		case !strings.HasSuffix(f.Cause, ".") || !strings.HasSuffix(f.Remedy, "."):
			t.Errorf("%s: cause and remedy must be sentences: %q, %q", f.Code, f.Cause, f.Remedy)
		case len(f.Sources) == 0 || len(f.Patterns) == 0:
			t.Errorf("%s: no sources or no patterns", f.Code)
		}
		seen[f.Code] = true
	}
}

// TestRequiredWords checks the field "required" of the patterns that newPatterns returns for an expression. The
// expected text has one line for each pattern. In a line, "&" separates the clauses, and "|" separates the words of a
// clause.
func TestRequiredWords(t *testing.T) {
	for expression, want := range map[string]string{
		`exec format error`:               "exec format error",
		`(orted|prted): not found`:        "orted|prted & : not found",
		`abcdef|(uvw|xyz)`:                "abcdef\nuvw|xyz",
		`(?i)Manifest unknown`:            "manifest unknown",
		`\d+`:                             "",
		`a\d+bcd(efg)+`:                   "bcd & efg",
		`Traceback|\d+`:                   "traceback\n",
		`(abc)?def`:                       "def",
		`NCCL WARN .*connect to \S+`:      "nccl warn  & connect to ",
		`Permissions 0\d{3} for '[^']`:    "permissions 0 &  for '",
		`(one .*twoo|three|fourr\d) five`: "one |three|fourr &  five",
	} {
		patterns, err := newPatterns(expression)
		if err != nil {
			t.Fatal(err)
		}
		var lines []string
		for _, p := range patterns {
			var clauses []string
			for _, c := range p.required {
				clauses = append(clauses, strings.Join(c, "|"))
			}
			lines = append(lines, strings.Join(clauses, " & "))
		}
		if got := strings.Join(lines, "\n"); got != want {
			t.Errorf("newPatterns(%q) requires %q, want %q", expression, got, want)
		}
	}
}

// TestPatternsAreFast checks that each pattern in the catalogue has required words. A pattern without required words is
// slow, because its expression is matched against every line of every log.
func TestPatternsAreFast(t *testing.T) {
	for _, f := range Catalogue() {
		for _, p := range f.patterns {
			if len(p.required) == 0 {
				t.Errorf("%s: the pattern %q matches texts without any fixed word: add a word", f.Code, p.expression())
			}
		}
	}
}

// TestOrder: Diagnose must return a cause before its symptom. If two causes in different texts have the same
// time, Diagnose must return the cause with the origin "infrastructure" first.
func TestOrder(t *testing.T) {
	log := func(lines ...string) Text { return Text{Source: Log, Message: strings.Join(lines, "\n")} }
	for name, tc := range map[string]struct {
		texts []Text
		want  []string
	}{
		"nothing":                    {nil, nil},
		"a clean log":                {[]Text{log("epoch 1", "loss 0.3")}, nil},
		"a symptom before its cause": {[]Text{log("ORTE was unable to reliably start one or more daemons.", "bash: line 1: orted: command not found")}, []string{"MPINotFound", "DaemonNotStarted"}},
		"a general failure":          {[]Text{log("Traceback (most recent call last):", "torch.OutOfMemoryError: CUDA out of memory.")}, []string{"GPUOutOfMemory"}},
		"another source":             {[]Text{log("MountVolume.SetUp failed for volume data")}, nil},
		"an unknown exception": {
			[]Text{{Source: Cluster, Message: "jobset failed due to one or more job failures"}, {Source: Cluster, Message: "Error: exit code 1"}, log("NCCL error: unhandled system error"), log("Traceback (most recent call last):", "ValueError: x")},
			[]string{"PythonException", "NCCLFailed", "JobFailed"},
		},
		"a killed process": {
			[]Text{{Source: Cluster, Message: "jobset failed due to one or more job failures"}, log("mpirun noticed that process rank 1 with PID 12 on node a exited on signal 9 (Killed).")},
			[]string{"ProcessKilled", "JobFailed"},
		},
		"only the exit code of a killed process": {
			[]Text{{Source: Cluster, Message: "jobset failed due to one or more job failures"}, {Source: State, Message: "the launcher ended with exit code 137"}, {Source: Cluster, Message: "Error: exit code 137"}},
			[]string{"ProcessKilled", "JobFailed"},
		},
		"a killed process, Intel MPI": {
			[]Text{log("=   KILLED BY SIGNAL: 9 (Killed)", "[mpiexec@launcher] Error: Downstream from host node-0 exited abnormally")},
			[]string{"ProcessKilled", "HydraProcessEnded"},
		},
		"only a warning":             {[]Text{log("WARNING: No GPU/TPU found, falling back to CPU.")}, []string{"GPUNotVisible"}},
		"a warning before a failure": {[]Text{log("WARNING: No GPU/TPU found, falling back to CPU.", "exec format error")}, []string{"WrongArchitecture"}},
		"a command of a user":        {[]Text{log("me@host:~$ docker run --ulimit memlock=-1 train", "$ echo exec format error")}, nil},
		"one failure in two texts":   {[]Text{log("exec format error"), log("exec format error")}, []string{"WrongArchitecture"}},
		"infrastructure first": {
			[]Text{log("ModuleNotFoundError: No module named 'a'"), {Source: Cluster, Message: "Pod was terminated in response to imminent node shutdown."}},
			[]string{"NodeShutdown", "PythonModuleMissing"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			var got []string
			for _, d := range Diagnose(tc.texts) {
				got = append(got, d.Code)
			}
			if !slices.Equal(got, tc.want) {
				t.Errorf("%q, want %q", got, tc.want)
			}
		})
	}
}

// TestLogBeforeExitCode: if a log line and an exit code show the same failure, the evidence must be the log line.
// Only the log line names the rank that crashed.
func TestLogBeforeExitCode(t *testing.T) {
	const line = "rank 0 with PID 77 on node bert-node-0-0 exited on signal 11 (Segmentation fault)."
	found := Diagnose([]Text{{Source: Cluster, Message: "Error: exit code 139"}, {Source: Log, Message: line}})
	if len(found) != 1 || found[0].Code != "ProcessCrashed" || found[0].Evidence != line {
		t.Errorf("%+v, want ProcessCrashed with the line of the log", found)
	}
}
