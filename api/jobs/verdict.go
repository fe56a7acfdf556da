package jobs

import (
	"encoding/json"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// PreflightContainer is the init container of the launcher that tries to reach every host
// (runtimes/scripts.cue).
const PreflightContainer = "preflight"

// Verdict is the report of a runtime's preflight about the hosts of a TrainJob.
type Verdict struct {
	// Hosts is the number of hosts in the hostfile, and Reached is the number of hosts that accepted a connection.
	Hosts   int `json:"hosts"`
	Reached int `json:"reached"`
	// Slots is the number of slots in the hostfile, and Available is the number of ranks that fit on the hosts.
	Slots     int `json:"slots"`
	Available int `json:"available"`
	// Milliseconds contains the times to reach the first hundred hosts, in the order of the hostfile. The entry in
	// Milliseconds is nil for a host that was not reached.
	Milliseconds []*int `json:"ms"`
	// Failed contains the first ten hosts that were not reached or have too few slots.
	Failed []HostFailure `json:"failed"`
}

// HostFailure is the reason why preflight rejects a host.
type HostFailure struct {
	// Host is the first label of the host name.
	Host string `json:"host"`
	// Cause is one of the causes in runtimes/scripts.cue, such as "refused".
	Cause string `json:"cause"`
	// Detail is the shortened message of ssh.
	Detail string `json:"detail"`
}

// String returns the host, the cause and the detail, separated by colons.
func (f HostFailure) String() string { return fmt.Sprintf("%s: %s: %s", f.Host, f.Cause, f.Detail) }

// Text describes the failure. The failure catalogue of package diagnosis contains patterns that recognize
// the description in texts of the source "State".
func (f HostFailure) Text() string { return "preflight of host " + f.String() }

// Verdict reads the verdict from the termination message of the launcher's preflight. The verdict is nil until
// preflight ends. If the message is not a verdict, Verdict returns an error.
func (s Snapshot) Verdict() (*Verdict, error) {
	ended := s.preflight()
	if ended == nil || ended.Message == "" {
		return nil, nil
	}
	found := &Verdict{}
	if err := json.Unmarshal([]byte(ended.Message), found); err != nil {
		return nil, fmt.Errorf("reading the verdict of preflight: %w", err)
	}
	if found.Hosts < 1 || found.Reached > found.Hosts {
		return nil, fmt.Errorf("reading the verdict of preflight: the verdict has no numbers of hosts, or wrong ones: %s", ended.Message)
	}
	return found, nil
}

// PreflightDuration returns how long the launcher's preflight ran, in whole seconds, or 0 if it has not ended.
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
