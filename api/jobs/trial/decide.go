package trial

import (
	"cmp"
	"fmt"
	"time"

	trainer "github.com/kubeflow/trainer/v2/pkg/apis/trainer/v1alpha1"
	"k8s.io/apimachinery/pkg/api/meta"
)

// responseTimeout is used when a trial times out. If the API server's last response is then older than responseTimeout,
// the detail of the failed check says that the API server has not responded.
const responseTimeout = 5 * time.Second

// decide runs all checks, and reports whether the trial is over. The function lastReached finds the last check that the
// TrainJob has reached. If an earlier check is still open, and does not need the launcher's log, the method "decide"
// sets the earlier check to Passed.
func (t *trial) decide(o *observation) bool {
	findings := make([]finding, len(t.checks))
	for i, c := range t.checks {
		findings[i] = c.run(o)
	}
	last := lastReached(findings)
	for i := range t.checks {
		c, found := &t.checks[i], findings[i]
		switch {
		case c.Status == Passed:
		case found.status == Open && i < last && !c.needsLog:
			t.resolve(c, passed(""))
		case found.status == Open:
			t.reportWaiting(*c, o.waitReason(found.detail))
			return t.failWithoutFinding(o, c)
		default:
			t.resolve(c, found)
		}
		if c.Status == Failed {
			return true
		}
	}
	return true
}

// lastReached returns the index of the last check that the TrainJob has reached. A check that passed counts as reached.
// A check that failed counts as reached only if its finding names the pod that caused the failure. If the finding names
// no pod, the failure does not show which checks the TrainJob has reached. An example is the finding of checkComplete,
// which never names a pod. If the TrainJob fails, this finding has the status Failed, no matter how many of the earlier
// checks the TrainJob has reached. When a TrainJob ends, its pods can be deleted, and then the evidence for some checks
// is lost. A check without evidence is still open. If the open check does not need the launcher's log, and the TrainJob
// has reached a later check, the method "decide" sets the open check to Passed.
func lastReached(findings []finding) int {
	last := -1
	for i, f := range findings {
		if f.status == Passed || f.status == Failed && f.pod != nil {
			last = i
		}
	}
	return last
}

// resolve copies a finding into a check, and reports the check.
func (t *trial) resolve(c *check, found finding) {
	c.Status, c.Seconds, c.Detail = found.status, seconds(time.Since(t.began)), oneLine(found.detail)
	t.waiting = ""
	if found.status == Failed {
		c.Evidence = makePrintable(found.evidence)
		c.Code, c.Hint = found.diagnose()
	}
	if found.pod != nil {
		c.Pod = found.pod.Name
	}
	t.report(c.Check)
}

// reportWaiting reports why a check waits, unless the reason is the same as in the last report.
func (t *trial) reportWaiting(c check, detail string) {
	detail = oneLine(detail)
	if detail == "" || detail == t.waiting {
		return
	}
	t.waiting = detail
	c.Seconds, c.Detail = seconds(time.Since(t.began)), detail
	t.report(c.Check)
}

// waitReason returns the reason why a check waits. If the TrainJob was suspended while it ran, waitReason returns a
// text about the suspension. Otherwise waitReason returns the parameter "detail".
func (o *observation) waitReason(detail string) string {
	if len(o.pods) > 0 && meta.IsStatusConditionTrue(o.snapshot.Job.Status.Conditions, trainer.TrainJobSuspended) {
		return "the TrainJob was suspended while it ran"
	}
	return detail
}

// failWithoutFinding is called when all checks before the check c have passed, and the check c is still open. None of
// these checks has found a failure. If the TrainJob has failed nevertheless, and its pods no longer change,
// failWithoutFinding sets the check c to Failed, and returns true.
func (t *trial) failWithoutFinding(o *observation, c *check) bool {
	outcome := o.snapshot.Outcome()
	if outcome.Condition == "" || outcome.Condition == completeCondition || !o.isFinal() {
		return false
	}
	found := finding{status: Failed, detail: "the TrainJob failed: " + outcome.Message}
	if pod, container, ok := o.failedContainer(); ok {
		found = failedFinding(pod, fmt.Sprintf("%s: %s: %s", found.detail, pod, exitMessage(container)), o.lastOutput(pod, container))
	}
	t.resolve(c, found)
	return true
}

// expire sets the first open check to Failed after the trial timed out. If mpirun still runs, the
// parameter "found" contains the end of mpirun's log, or the error from reading this log.
func (t *trial) expire(found finding) {
	for i := range t.checks {
		if t.checks[i].Status != Open {
			continue
		}
		detail := "not within " + t.options.Timeout.String()
		if reason := cmp.Or(found.detail, t.waiting); reason != "" {
			detail += ": " + reason
		}
		if elapsed := time.Since(t.lastSeen); elapsed > responseTimeout {
			detail += fmt.Sprintf("; the API server has not responded for %.0f s", elapsed.Seconds())
		}
		found.status, found.detail = Failed, detail
		t.resolve(&t.checks[i], found)
		return
	}
}

// finalChecks returns the results of all checks at the end of the trial. If a check is still open, its status in the
// results is NotReached.
func (t *trial) finalChecks() []Check {
	result := make([]Check, len(t.checks))
	for i, c := range t.checks {
		result[i] = c.Check
		if c.Status == Open {
			result[i].Status = NotReached
		}
	}
	return result
}

func (t *trial) passed() bool {
	for _, c := range t.checks {
		if c.Status != Passed {
			return false
		}
	}
	return true
}
