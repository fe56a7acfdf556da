package runtimevet

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/trainyard/trainyard/generator/problem"
)

// goodRuntime is a runtime without problems or notes.
const goodRuntime = `# Open MPI on two nodes.
apiVersion: trainer.kubeflow.org/v1alpha1
kind: ClusterTrainingRuntime
metadata:
  name: mpi
  labels: {trainer.kubeflow.org/framework: mpi}
spec:
  mlPolicy:
    numNodes: 1
    mpi:
      numProcPerNode: 2
      mpiImplementation: OpenMPI
      sshAuthMountPath: /home/mpiuser/.ssh
      runLauncherAsNode: true
  template:
    spec:
      network: {publishNotReadyAddresses: true, enableDNSHostnames: true}
      successPolicy:
        operator: All
        targetReplicatedJobs: [launcher]
      replicatedJobs:
      - name: launcher
        replicas: 1
        template:
          metadata:
            labels:
              trainer.kubeflow.org/trainjob-ancestor-step: trainer
          spec:
            template:
              spec:
                schedulerName: gangs
                containers:
                - name: node
                  image: quay.io/acme/launcher
                  command: [mpirun, hostname]
                  env:
                  - {name: OMPI_MCA_orte_set_default_slots, value: "2"}
                  - {name: PRTE_MCA_prte_default_hostfile, value: /etc/mpi/hostfile}
                  - {name: PRTE_MCA_hwloc_default_binding_policy, value: none}
                  resources:
                    limits: {cpu: 2, memory: 4Gi}
                  volumeMounts: [{name: shm, mountPath: /dev/shm}]
                volumes: [{name: shm, emptyDir: {medium: Memory}}]
      - name: node
        replicas: 1
        template:
          spec:
            parallelism: 1
            template:
              spec:
                schedulerName: gangs
                containers:
                - name: node
                  image: quay.io/acme/node
                  command: [sshd, -De]
                  resources: {limits: {memory: 4Gi}}
`

// plainGood is a runtime that does not use MPI. It has no problems and no notes.
const plainGood = `apiVersion: trainer.kubeflow.org/v1alpha1
kind: TrainingRuntime
metadata: {name: torch, labels: {trainer.kubeflow.org/framework: torch}}
spec:
  mlPolicy: {numNodes: 4, torch: {}}
  template:
    spec:
      ttlSecondsAfterFinished: 60
      replicatedJobs:
      - name: dataset-initializer
        template:
          metadata: {labels: {trainer.kubeflow.org/trainjob-ancestor-step: dataset-initializer}}
          spec: {template: {spec: {containers: [{name: dataset-initializer, image: quay.io/acme/data}]}}}
      - name: node
        dependsOn: [{name: dataset-initializer, status: Complete}]
        template:
          metadata: {labels: {trainer.kubeflow.org/trainjob-ancestor-step: trainer}}
          spec: {template: {spec: {containers: [{name: node, image: quay.io/acme/torch, args: [train], resources: {limits: {nvidia.com/gpu: "8"}}}]}}}
`

func TestVetPassesGoodRuntimes(t *testing.T) {
	for name, text := range map[string]string{"MPI": goodRuntime, "no MPI": plainGood, "both": goodRuntime + "---\n" + plainGood} {
		t.Run(name, func(t *testing.T) {
			got, err := Vet("good.yaml", []byte(text))
			want := Report{Runtimes: strings.Count(text, "apiVersion")}
			if diff := cmp.Diff(want, got); diff != "" || err != nil {
				t.Errorf("Vet(): %v, -want +got:\n%s", err, diff)
			}
		})
	}
}

// findingMark is a mark in the text of a test case. The mark stands in front of each value that Vet must report.
const findingMark = "»"

type edited struct {
	base  string   // the runtime to edit; if empty, goodRuntime
	edits []string // old, new, old, new ...
	want  []string // rule and path of each finding, in the order of the marks
	note  bool     // whether the findings are notes, not problems
	says  string   // text that the first message must contain, for rules with several messages
}

// applyEdits returns the edited text of the runtime. The test fails if the old text of an edit does not occur exactly
// once.
func (b edited) applyEdits(t testing.TB) string {
	t.Helper()
	text := b.base
	if text == "" {
		text = goodRuntime
	}
	for i := 0; i < len(b.edits); i += 2 {
		if n := strings.Count(text, b.edits[i]); n != 1 {
			t.Fatalf("%q occurs %d times, want once", b.edits[i], n)
		}
		text = strings.Replace(text, b.edits[i], b.edits[i+1], 1)
	}
	return text
}

func unmark(text string) (plain string, places []string) {
	var b strings.Builder
	for rest := text; ; {
		before, after, found := strings.Cut(rest, findingMark)
		b.WriteString(before)
		if !found {
			return b.String(), places
		}
		lines := strings.Split(b.String(), "\n")
		last := lines[len(lines)-1]
		places = append(places, fmt.Sprintf("bad.yaml:%d:%d", len(lines), utf8.RuneCountInString(last)+1))
		rest = after
	}
}

// messageForm matches a message with three parts: the rule, the effect with its cause, and the text
// that tells the user what to write instead.
var messageForm = regexp.MustCompile(`^([a-z0-9-]+): [^:].+: .+[^.]$`)

func summary(t *testing.T, p problem.Problem) string {
	t.Helper()
	m := messageForm.FindStringSubmatch(p.Message)
	unprintable := func(r rune) bool { return !unicode.IsPrint(r) }
	if m == nil || strings.ContainsFunc(p.String(), unprintable) {
		t.Errorf("message %q does not match %s, or is not printable", p.Message, messageForm)
		return p.String()
	}
	return fmt.Sprintf("%s: %s at %s", p.Position, m[1], p.Path)
}

func summaries(t *testing.T, list problem.List) []string {
	t.Helper()
	all := []string{}
	for _, p := range list {
		all = append(all, summary(t, p))
	}
	return all
}

func TestVetFindsTraps(t *testing.T) {
	for name, tc := range allTraps() {
		t.Run(name, func(t *testing.T) {
			text, places := unmark(tc.applyEdits(t))
			report, err := Vet("bad.yaml", []byte(text))
			if err != nil {
				t.Fatalf("Vet(): %v", err)
			}
			if len(places) != len(tc.want) {
				t.Fatalf("the text has %d marks, but the case expects %d findings", len(places), len(tc.want))
			}
			want := []string{}
			for i, w := range tc.want {
				want = append(want, places[i]+": "+w)
			}
			found, none := report.Problems, report.Notes
			if tc.note {
				found, none = none, found
			}
			if diff := cmp.Diff(want, summaries(t, found)); diff != "" {
				t.Errorf("Vet(): -want +got:\n%s", diff)
			}
			if len(none) > 0 {
				t.Errorf("Vet() also reports in the other list:\n%v", none)
			}
			if len(found) > 0 && !strings.Contains(found[0].Message, tc.says) {
				t.Errorf("message %q lacks %q", found[0].Message, tc.says)
			}
		})
	}
}

// TestMPIRulesNeedMPI renames the field "mpi" of each case to "flux". Without MPI, the rules about MPI must
// report nothing.
func TestMPIRulesNeedMPI(t *testing.T) {
	general := []string{"wrong-type", "unknown-field", "impossible-dependency", "gang-deadlock", "missing-scheduler-name", "two-gang-schedulers", "invalid-name", "invalid-resource-name", "unknown-device-limit", "missing-framework-label"}
	policy := regexp.MustCompile(`\bmpi:`)
	for name, tc := range allTraps() {
		t.Run(name, func(t *testing.T) {
			text, _ := unmark(tc.applyEdits(t))
			report, err := Vet("bad.yaml", []byte(policy.ReplaceAllString(text, "flux:")))
			if err != nil {
				t.Fatalf("Vet(): %v", err)
			}
			for _, p := range append(report.Problems, report.Notes...) {
				if trap, _, _ := strings.Cut(p.Message, ":"); !slices.Contains(general, trap) {
					t.Errorf("a rule for MPI reports a runtime without MPI: %v", p)
				}
			}
		})
	}
}

func TestEveryTrapHasATestCase(t *testing.T) {
	cases := map[string]bool{}
	for _, tc := range allTraps() {
		for _, want := range tc.want {
			trap, _, _ := strings.Cut(want, " ")
			cases[trap] = true
		}
	}
	last := ""
	for _, trap := range Traps() {
		if !cases[trap.Name] {
			t.Errorf("trap %s has no case", trap.Name)
		}
		if trap.Name <= last {
			t.Errorf("trap %s is listed after %s", trap.Name, last)
		}
		if trap.Doc == "" || strings.HasSuffix(trap.Doc, ".") || strings.Contains(trap.Doc, "\n") {
			t.Errorf("trap %s has the description %q, want one sentence without a full stop", trap.Name, trap.Doc)
		}
		last = trap.Name
	}
}

func TestVetReadsStreamsAndLists(t *testing.T) {
	item := "- " + strings.ReplaceAll(strings.TrimSpace(plainGood), "\n", "\n  ")
	cases := map[string]struct {
		name, text string
		is         bool
		runtimes   int
		want       []string
	}{
		"an empty file":                    {"a.yaml", "", false, 0, nil},
		"an empty JSON file":               {"a.json", "", false, 0, nil},
		"another kind":                     {"a.yaml", "apiVersion: v1\nkind: ConfigMap\n", false, 0, nil},
		"another group":                    {"a.yaml", "apiVersion: acme.io/v1\nkind: TrainingRuntime\n", false, 0, nil},
		"a list at the top":                {"a.yaml", "[1, 2]", false, 0, nil},
		"a runtime as the second document": {"a.yaml", "apiVersion: v1\nkind: ConfigMap\n---\n" + plainGood, true, 1, nil},
		"a comment before the runtime":     {"a.yaml", "# a comment\n---\n" + plainGood, true, 1, nil},
		"a List":                           {"a.yaml", "apiVersion: v1\nkind: List\nitems:\n" + item, true, 1, nil},
		"a List without runtimes":          {"a.yaml", "apiVersion: v1\nkind: List\nitems: [{kind: ConfigMap}, null, x]\n", false, 0, nil},
		"a problem in a List": {
			"a.yaml", "apiVersion: v1\nkind: List\nitems:\n" + strings.Replace(item, "dataset-initializer, status", "nobody, status", 1), true, 1,
			[]string{"a.yaml:18:30: impossible-dependency at items.0.spec.template.spec.replicatedJobs.node.dependsOn.nobody.name"},
		},
		"JSON": {
			"a.json", "{\"apiVersion\": \"trainer.kubeflow.org/v1alpha1\", \"kind\": \"TrainingRuntime\",\n \"metadata\": {\"name\": \"a\"}, \"spec\": {\"template\": 1}}", true, 1,
			[]string{"a.json:2:2: missing-framework-label at metadata.labels.\"trainer.kubeflow.org/framework\"", "a.json:2:50: wrong-type at spec.template"},
		},
		"problems in the order of the text": {
			"a.yaml", strings.Replace(goodRuntime, "numNodes: 1", "numNodes: 2", 1) + "---\n" + strings.Replace(goodRuntime, "replicas: 1\n        template:\n          metadata", "replicas: 2\n        template:\n          metadata", 1), true, 2,
			[]string{"a.yaml:9:15: many-launchers at spec.mlPolicy.numNodes", "a.yaml:80:19: wrong-replica-count at spec.template.spec.replicatedJobs.launcher.replicas"},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			report, err := Vet(tc.name, []byte(tc.text))
			if err != nil || report.Runtimes != tc.runtimes {
				t.Fatalf("Vet() finds %d runtimes, %v, want %d", report.Runtimes, err, tc.runtimes)
			}
			if diff := cmp.Diff(append([]string{}, tc.want...), append(summaries(t, report.Notes), summaries(t, report.Problems)...)); diff != "" {
				t.Errorf("Vet(): -want +got:\n%s", diff)
			}
			if got := IsRuntimeFile(tc.name, []byte(tc.text)); got != tc.is {
				t.Errorf("IsRuntimeFile() = %v, want %v", got, tc.is)
			}
		})
	}
}

func TestVetReportsSyntaxErrors(t *testing.T) {
	cases := map[string]struct {
		text string
		is   bool
		want string
	}{
		"not YAML":                 {"a: [", false, "a.yaml:1:4: not YAML"},
		"not YAML after a runtime": {plainGood + "---\na: [", true, "not YAML"},
		"a key that is set twice":  {strings.Replace(goodRuntime, "kind:", "kind: X\nkind:", 1), false, `a.yaml:4:1: key "kind" is already set at line 3`},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			_, err := Vet("a.yaml", []byte(tc.text))
			var list problem.List
			if !errors.As(err, &list) || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("Vet(): %v, want a problem with %q", err, tc.want)
			}
			if got := IsRuntimeFile("a.yaml", []byte(tc.text)); got != tc.is {
				t.Errorf("IsRuntimeFile() = %v, want %v", got, tc.is)
			}
		})
	}
}
