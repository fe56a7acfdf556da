package jobs

import (
	"encoding/json"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// PreflightContainer is the name of an init container of the launcher. The container runs the
// script "preflight" in runtimes/scripts.cue, which tries to reach every host.
const PreflightContainer = "preflight"

// Verdict is the report of a runtime's preflight about the hosts of a TrainJob.
type Verdict struct {
	// Hosts is the number of hosts in the hostfile, and Reached is the number of hosts that passed preflight.
	Hosts   int `json:"hosts"`
	Reached int `json:"reached"`
	// Slots is the number of slots in the hostfile. Available is the number of slots on the hosts that passed
	// preflight.
	Slots     int `json:"slots"`
	Available int `json:"available"`
	// Milliseconds contains the times to reach the first hundred hosts, in the order of the hostfile. The time of
	// a host that did not pass is nil.
	Milliseconds []*int `json:"ms"`
	// Failed contains the first ten hosts that did not pass. A host passes if preflight reaches the host, and the
	// host has enough slots (or oversubscription is allowed).
	Failed []HostFailure `json:"failed"`
}

// HostFailure is the reason why preflight rejects a host.
type HostFailure struct {
	// Host is the first label of the host name.
	Host string `json:"host"`
	// Cause is one of the causes in runtimes/scripts.cue, such as "refused".
	Cause string `json:"cause"`
	// Detail explains the cause. It is usually the shortened error message of ssh.
	Detail string `json:"detail"`
}

// String returns the host, the cause and the detail, separated by colons.
func (f HostFailure) String() string { return fmt.Sprintf("%s: %s: %s", f.Host, f.Cause, f.Detail) }

// Text returns a description of the failure. Callers store the description in the field Message of a diagnosis.Text.
// The field Source of this diagnosis.Text has the value diagnosis.State. Callers then pass the diagnosis.Text to
// diagnosis.Diagnose, which searches the description for the patterns of known failures.
func (f HostFailure) Text() string { return "preflight of host " + f.String() }

// Verdict reads the verdict from the termination message of the launcher's preflight. The verdict is nil if
// preflight has not ended, or has ended without a message. If the message is not a verdict, Verdict returns an
// error.
func (s Snapshot) Verdict() (*Verdict, error) {
	ended := s.preflight()
	if ended == nil || ended.Message == "" {
		return nil, nil
	}
	found := &Verdict{}
	if err := json.Unmarshal([]byte(ended.Message), found); err != nil {
		return nil, fmt.Errorf("reading the verdict of the preflight check: %w", err)
	}
	if found.Hosts < 1 || found.Reached > found.Hosts {
		return nil, fmt.Errorf("reading the verdict of the preflight check: want hosts >= 1 and reached <= hosts, got %s", ended.Message)
	}
	return found, nil
}

// PreflightDuration returns how long the launcher's preflight ran, in whole seconds, or 0 if preflight has not ended.
func (s Snapshot) PreflightDuration() time.Duration {
	ended := s.preflight()
	if ended == nil {
		return 0
	}
	return ended.FinishedAt.Sub(ended.StartedAt.Time)
}

// preflight returns the final state of the container "preflight" in the latest launcher pod, or nil if the
// container has not ended.
func (s Snapshot) preflight() *corev1.ContainerStateTerminated {
	for _, launcher := range s.LatestAttempts() {
		if launcher.Role != Launcher {
			continue
		}
		for _, c := range launcher.Status.InitContainerStatuses {
			if c.Name == PreflightContainer {
				return c.State.Terminated
			}
		}
	}
	return nil
}
