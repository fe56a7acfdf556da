package sources

import (
	"errors"
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/types"

	"github.com/trainyard/trainyard/api/message"
)

// ErrNotInstalled reports that the API of the cluster does not have the kind TrainJobSource.
var ErrNotInstalled = errors.New("the cluster has no TrainJobSources: the CustomResourceDefinition trainjobsources.trainyard.dev is not installed")

// UnknownSourceError reports that a namespace has no TrainJobSource with the requested name.
type UnknownSourceError struct {
	// Source is the requested TrainJobSource.
	Source types.NamespacedName
	// Known contains the sorted names of all TrainJobSources in the namespace.
	Known []string
	// Hidden is true if the user is not allowed to list the TrainJobSources.
	Hidden bool
}

// Error returns a message that names the TrainJobSource. Unless Hidden is true, the message also suggests a similar
// name, or lists the known names.
func (e *UnknownSourceError) Error() string {
	text := fmt.Sprintf("there is no TrainJobSource %s in namespace %s", message.Quote(e.Source.Name), e.Source.Namespace)
	if e.Hidden {
		return text
	}
	return text + ": " + suggest(e.Source.Name, e.Known, "the namespace has")
}

// UnknownJobError reports that a TrainJobSource has no job with the requested name.
type UnknownJobError struct {
	// Source is the TrainJobSource. Job is the requested name of a job.
	Source types.NamespacedName
	Job    string
	// Known contains the names of all jobs of the TrainJobSource.
	Known []string
}

// Error returns a message that suggests a similar name, or lists the known names.
func (e *UnknownJobError) Error() string {
	return fmt.Sprintf("TrainJobSource %s has no job %s: %s", e.Source, message.Quote(e.Job), suggest(e.Job, e.Known, "it has"))
}

// InvalidJobError reports a text that cannot be the name of a job.
type InvalidJobError struct{ Job string }

// Error returns a message that says which names of jobs are allowed.
func (e *InvalidJobError) Error() string {
	return fmt.Sprintf("job %s: want at most 63 lower-case letters, digits and \"-\"", message.Quote(e.Job))
}

// SuspendedError reports that a TrainJobSource is suspended, so the controller does not fetch its repository.
type SuspendedError struct{ Source types.NamespacedName }

// Error returns a message that names the TrainJobSource and the field spec.suspend.
func (e *SuspendedError) Error() string {
	return fmt.Sprintf("TrainJobSource %s is suspended (spec.suspend is true), so its repository is not fetched", e.Source)
}

// maxNames is the maximum number of names that a message lists.
const maxNames = 12

// suggest returns a hint for an error message about an unknown name. Let X be the known name that is most similar to
// the unknown name. If X is similar enough, and no other known name is equally similar, the hint is the question "did
// you mean X?". In all other cases, the hint is a list of at most maxNames known names. The argument "owner" contains
// the words before the list, for example "the namespace has".
func suggest(name string, known []string, owner string) string {
	if nearest := message.Nearest(name, known); nearest != "" {
		return fmt.Sprintf("did you mean %q?", nearest)
	}
	switch {
	case len(known) == 0:
		return owner + " none"
	case len(known) > maxNames:
		return fmt.Sprintf("%s %s and %d more", owner, strings.Join(known[:maxNames], ", "), len(known)-maxNames)
	}
	return owner + " " + strings.Join(known, ", ")
}
