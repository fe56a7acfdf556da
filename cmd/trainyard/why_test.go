package main

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/trainyard/trainyard/api/jobs"
	"github.com/trainyard/trainyard/api/jobs/diagnosis"
)

func TestPrintExplanation(t *testing.T) {
	cause := jobs.Cause{
		Code: "TooFewGPUs", Level: diagnosis.Cause, Retry: diagnosis.RetryWait, Cause: "No cluster node has enough free GPUs for a pod.",
		Remedy: "Wait until other jobs end.", Source: "event FailedScheduling of Pod bert-node-0-0-abcde", Evidence: "FailedScheduling: 0/4 nodes are available",
	}
	symptom := jobs.Cause{Code: "JobFailed", Level: diagnosis.Symptom, Retry: diagnosis.RetryNever, Cause: "A Job failed.", Remedy: "Look at the pod that failed first.", Source: "condition Failed of TrainJob bert", Evidence: "JobsFailed: jobset failed"}
	excerpt := jobs.Excerpt{Source: "log of container node in pod bert-node-0-0-abcde", Lines: []string{"step 1", "my own error"}}
	never := cause
	never.Retry = diagnosis.RetryNever
	for name, tc := range map[string]struct {
		phase    jobs.Phase
		causes   []jobs.Cause
		excerpts []jobs.Excerpt
		want     []string
	}{
		"succeeded": {jobs.Succeeded, nil, nil, []string{"TrainJob team/bert", "Phase:   Succeeded", "Summary: the summary", ""}},
		"waits": {jobs.GangScheduling, []jobs.Cause{cause}, nil, []string{
			"TrainJob team/bert", "Phase:   GangScheduling", "Summary: the summary", "",
			"Cause: No cluster node has enough free GPUs for a pod. (TooFewGPUs)",
			"  Evidence, in event FailedScheduling of Pod bert-node-0-0-abcde:", "    FailedScheduling: 0/4 nodes are available",
			"  To do: Wait until other jobs end.", "  The TrainJob starts by itself when there is room.", "",
		}},
		"failed": {jobs.Failed, []jobs.Cause{never, symptom}, nil, []string{
			"TrainJob team/bert", "Phase:   Failed", "Summary: the summary", "",
			"Cause: No cluster node has enough free GPUs for a pod. (TooFewGPUs)",
			"  Evidence, in event FailedScheduling of Pod bert-node-0-0-abcde:", "    FailedScheduling: 0/4 nodes are available",
			"  To do: Wait until other jobs end.", "  Running the same TrainJob again will probably not help.", "",
			"Also seen:", "  JobFailed in condition Failed of TrainJob bert: JobsFailed: jobset failed", "",
		}},
		"failed, and only a symptom was found": {jobs.Failed, []jobs.Cause{symptom}, []jobs.Excerpt{excerpt}, []string{
			"TrainJob team/bert", "Phase:   Failed", "Summary: the summary", "",
			"The cause is unknown. Only a symptom was found: A Job failed. (JobFailed)",
			"  Evidence, in condition Failed of TrainJob bert:", "    JobsFailed: jobset failed",
			"  To do: Look at the pod that failed first.", "  Running the same TrainJob again will probably not help.", "",
			"The end of the log of container node in pod bert-node-0-0-abcde:", "  step 1", "  my own error", "",
		}},
		"failed, and nothing was found": {jobs.Failed, nil, []jobs.Excerpt{excerpt}, []string{
			"TrainJob team/bert", "Phase:   Failed", "Summary: the summary", "", "No failure that trainyard knows was found.", "",
			"The end of the log of container node in pod bert-node-0-0-abcde:", "  step 1", "  my own error", "",
		}},
		"runs after a failure": {jobs.Running, []jobs.Cause{cause}, nil, []string{
			"TrainJob team/bert", "Phase:   Running", "Summary: the summary", "",
			"Possible problem, although the TrainJob runs: No cluster node has enough free GPUs for a pod. (TooFewGPUs)",
			"  Evidence, in event FailedScheduling of Pod bert-node-0-0-abcde:", "    FailedScheduling: 0/4 nodes are available",
			"  To do: Wait until other jobs end.", "",
		}},
	} {
		t.Run(name, func(t *testing.T) {
			var out strings.Builder
			e := jobs.Explanation{Namespace: "team", TrainJob: "bert", Phase: tc.phase, Summary: "the summary", Causes: tc.causes, Excerpts: tc.excerpts}
			if err := printExplanation(&out, e); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(strings.Join(tc.want, "\n"), out.String()); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

func TestSuggestName(t *testing.T) {
	for name, want := range map[string]string{"brt": `: did you mean "bert"?`, "resnet": "; it has bert, gpt"} {
		if got := suggestName(name, []string{"bert", "gpt"}); got != want {
			t.Errorf("suggestName(%q) = %q, want %q", name, got, want)
		}
	}
	if got := suggestName("a", nil); got != "" {
		t.Errorf("suggestName without names = %q", got)
	}
}
