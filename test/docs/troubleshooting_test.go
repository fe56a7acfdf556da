package docs

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/trainyard/trainyard/api/jobs/diagnosis"
)

func TestTroubleshootingPage(t *testing.T) {
	expectPage(t, "docs/troubleshooting.md", "api/jobs/diagnosis/catalogue.yaml", troubleshootingPage(diagnosis.Catalogue()))
}

const troubleshootingIntroduction = `# Troubleshooting

This page lists all failures of TrainJobs that trainyard recognizes. ` + "`trainyard why TRAINJOB`" + ` reads events, the logs
of failed containers, and the status of the TrainJob and of its pods. It then prints the most probable cause, its evidence,
and what to do:

` + "```" + `text
$ trainyard why bert --namespace team-vision
TrainJob team-vision/bert
Phase:   Failed
Summary: Failed: JobsFailed: jobset failed due to one or more job failures

Cause: A GPU has too little memory for the program. (GPUOutOfMemory)
  Evidence, in log of container node in pod bert-node-0-1-x7k2p:
    torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 20.00 GiB.
  To do: Use a smaller batch, or split the model.
  Running the same TrainJob again will probably not help.
` + "```" + `

` + "`trainyard why`" + ` works with any TrainJob, even if trainyard did not generate the runtime of the TrainJob. ` + "`trainyard why`" + ` needs permission to get TrainJobs
and to list pods. Without permission to list events or to get logs, it diagnoses the failure without the events or the logs. In its
output, ` + "`trainyard why`" + ` prints ` + "`[secret]`" + ` instead of secret values, such as passwords and tokens. With ` + "`-o json`" + `, scripts can read the result of ` + "`trainyard why`" + `. The codes
of failures, such as GPUOutOfMemory, do not change between versions of trainyard.

In the tables below, the word "symptom" marks a failure whose message does not show why it happened. The word "general" marks a failure
with many possible causes. All other failures have no mark. ` + "`trainyard why`" + ` first looks for a failure without a mark. If
` + "`trainyard why`" + ` finds no such failure, it looks for a failure that the tables mark with the word "general". If ` + "`trainyard why`" + ` finds only symptoms, it says that the cause is unknown, and prints the end of the log of the container that failed
first.

` + "`make update`" + ` generates this page from the [catalogue](../api/jobs/diagnosis/catalogue.yaml). To add a failure to this page, add it to
the catalogue. In the file ` + "`testdata/samples.yaml`" + ` beside the catalogue, also add a typical line that shows the failure.
`

func troubleshootingPage(all []diagnosis.Failure) string {
	var b strings.Builder
	b.WriteString(troubleshootingIntroduction)
	for _, section := range []struct {
		source diagnosis.Source
		title  string
	}{
		{diagnosis.Cluster, "Messages of Kubernetes"},
		{diagnosis.Log, "Lines in logs"},
		{diagnosis.State, "States without a message"},
	} {
		fmt.Fprintf(&b, "\n## %s\n\n| code | cause | what to do | run again? |\n|---|---|---|---|\n", section.title)
		for _, f := range all {
			if f.Sources[0] == section.source {
				fmt.Fprintf(&b, "| <a id=%q></a>`%s`%s | %s | %s | %s |\n", strings.ToLower(f.Code), f.Code, levelCell(f.Level), escapeCell(f.Cause), escapeCell(f.Remedy), retryCell(f.Retry))
			}
		}
	}
	return b.String()
}

func levelCell(level diagnosis.Level) string {
	if slices.Contains([]diagnosis.Level{diagnosis.Symptom, diagnosis.General}, level) {
		return ", " + string(level)
	}
	return ""
}

func retryCell(retry diagnosis.Retry) string {
	return map[diagnosis.Retry]string{
		diagnosis.RetryNever: "no", diagnosis.RetryAgain: "yes", diagnosis.RetryWait: "starts by itself",
	}[retry]
}
