package trial

import (
	"cmp"
	"fmt"
	"time"

	trainer "github.com/kubeflow/trainer/v2/pkg/apis/trainer/v1alpha1"
	"k8s.io/apimachinery/pkg/api/meta"
)

// silence is how long an API server may be busy before that is worth telling.
const silence = 5 * time.Second

// decide judges all open checks, and reports whether nothing is left to decide. Checks before the
// furthest pass, whatever there was to see of them. Ranks alone must have been seen.
func (t *trial) decide(s *scene) bool {
	findings := make([]finding, len(t.checks))
	for i, c := range t.checks {
		findings[i] = c.judge(s)
	}
	last := furthest(findings)
	for i := range t.checks {
		c, found := &t.checks[i], findings[i]
		switch {
		case c.Status == Passed:
		case found.status == Open && i < last && !c.seen:
			t.settle(c, passed(""))
		case found.status == Open:
			t.wait(*c, s.suspended(found.detail))
			return t.failedUnseen(s, c)
		default:
			t.settle(c, found)
		}
		if c.Status == Failed {
			return true
		}
	}
	return true
}

// furthest is the last check that passed, or failed on a pod: a pod has come so far, and passed
// those before. There may be nothing to see of them: pods go when a job ends.
func furthest(findings []finding) int {
	last := -1
	for i, f := range findings {
		if f.status == Passed || f.status == Failed && f.pod != nil {
			last = i
		}
	}
	return last
}

// settle takes a finding over into its check, and tells of it.
func (t *trial) settle(c *check, found finding) {
	c.Status, c.Seconds, c.Detail = found.status, seconds(time.Since(t.began)), oneLine(found.detail)
	t.said = ""
	if found.status == Failed {
		c.Evidence, c.Hint = legible(found.evidence), hint(found.detail+"\n"+found.evidence)
	}
	if found.pod != nil {
		c.Pod = found.pod.Name
	}
	t.report(c.Check)
}

// wait tells what a check waits for, if that is news.
func (t *trial) wait(c check, detail string) {
	detail = oneLine(detail)
	if detail == "" || detail == t.said {
		return
	}
	t.said = detail
	c.Seconds, c.Detail = seconds(time.Since(t.began)), detail
	t.report(c.Check)
}

// suspended is what a check waits for, or that somebody suspended the job meanwhile.
func (s *scene) suspended(detail string) string {
	if len(s.seen) > 0 && meta.IsStatusConditionTrue(s.view.Job.Status.Conditions, trainer.TrainJobSuspended) {
		return "the TrainJob was suspended while it ran"
	}
	return detail
}

// failedUnseen fails the first open check of a job that ended badly although all that there is
// to see of it looks well, and reports whether it did.
func (t *trial) failedUnseen(s *scene, c *check) bool {
	outcome := s.view.Outcome()
	if outcome.Condition == "" || outcome.Condition == complete || !s.quiet() {
		return false
	}
	found := finding{status: Failed, detail: "the TrainJob failed: " + outcome.Message}
	if pod, broke, is := s.culprit(); is {
		found = failed(pod, fmt.Sprintf("%s: %s: %s", found.detail, pod, howItEnded(broke)), s.evidence(pod, broke))
	}
	t.settle(c, found)
	return true
}

// giveUp fails the first open check, because time is over. What goes on meanwhile is evidence.
func (t *trial) giveUp(found finding) {
	for i := range t.checks {
		if t.checks[i].Status != Open {
			continue
		}
		detail := "not within " + t.options.Timeout.String()
		if said := cmp.Or(found.detail, t.said); said != "" {
			detail += ": " + said
		}
		if silent := time.Since(t.looked); silent > silence {
			detail += fmt.Sprintf("; the API server has not answered for %.0f s", silent.Seconds())
		}
		found.status, found.detail = Failed, detail
		t.settle(&t.checks[i], found)
		return
	}
}

// conclude are all checks as they are at the end.
func (t *trial) conclude() []Check {
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
