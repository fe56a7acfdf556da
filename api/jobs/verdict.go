package jobs

import (
	"encoding/json"
	"fmt"
)

// Preflight is the init container of the launcher that tries to reach every host
// (runtimes/scripts.cue).
const Preflight = "preflight"

// Verdict is what a runtime's preflight found out about the hosts of a TrainJob.
type Verdict struct {
	// Hosts is how many the hostfile names, and Reached how many of them answered.
	Hosts   int `json:"hosts"`
	Reached int `json:"reached"`
	// Slots is how many ranks the hostfile wants, and Available how many hosts have room for.
	Slots     int `json:"slots"`
	Available int `json:"available"`
	// Milliseconds is how long each of the first hundred hosts took, in the hostfile's order;
	// nil for one that was not reached.
	Milliseconds []*int `json:"ms"`
	// Failed are the first ten hosts that were not reached.
	Failed []HostFailure `json:"failed"`
}

// HostFailure says why a host was not reached.
type HostFailure struct {
	// Host is the first label of its name.
	Host string `json:"host"`
	// Cause is one of the words of runtimes/scripts.cue, such as "refused".
	Cause string `json:"cause"`
	// Detail is what ssh said, shortened.
	Detail string `json:"detail"`
}

// String is the failure in words.
func (f HostFailure) String() string { return fmt.Sprintf("%s: %s: %s", f.Host, f.Cause, f.Detail) }

// Verdict is that of the launcher's preflight; nil while there is none. It fails when the
// container left something else.
func (v View) Verdict() (*Verdict, error) {
	for _, launcher := range v.Of(Launcher) {
		for _, c := range launcher.Status.InitContainerStatuses {
			if c.Name != Preflight || c.State.Terminated == nil || c.State.Terminated.Message == "" {
				continue
			}
			found := &Verdict{}
			if err := json.Unmarshal([]byte(c.State.Terminated.Message), found); err != nil {
				return nil, fmt.Errorf("reading the verdict of %s: %w", launcher.Name, err)
			}
			if found.Hosts < 1 || found.Reached > found.Hosts {
				return nil, fmt.Errorf("reading the verdict of %s: it tells of no hosts: %s", launcher.Name, c.State.Terminated.Message)
			}
			return found, nil
		}
	}
	return nil, nil
}
