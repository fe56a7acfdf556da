package trial

import "github.com/trainyard/trainyard/api/jobs/diagnosis"

// diagnose returns the code of the most probable failure, and a text with the cause and the remedy of this failure. The code
// and the text are empty if the failure is unknown.
func (f finding) diagnose() (code, hint string) {
	texts := []diagnosis.Text{
		{Source: diagnosis.State, Message: f.detail},
		{Source: diagnosis.Cluster, Message: f.detail},
		{Source: diagnosis.Cluster, Message: f.evidence},
		{Source: diagnosis.Log, Message: f.evidence},
	}
	for _, host := range f.hosts {
		texts = append(texts, diagnosis.Text{Source: diagnosis.State, Message: host.Text()})
	}
	found := diagnosis.Diagnose(texts)
	if len(found) == 0 {
		return "", ""
	}
	return found[0].Code, found[0].Cause + " " + found[0].Remedy
}
