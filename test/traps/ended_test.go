package traps

import (
	"testing"

	"github.com/trainyard/trainyard/api/v1alpha1"
)

// TestTimeToLiveIsAnAnnotation tests the setting ttlAfterFinished, the time from the end of a TrainJob to its deletion.
// An annotation of a generated runtime must contain this time as a number of seconds. The runtime must not set the
// field ttlSecondsAfterFinished. If the runtime set this field, the JobSet of an ended TrainJob would be deleted after
// the time in the field. Up to Trainer 2.3, a failed TrainJob runs again when its JobSet is deleted.
func TestTimeToLiveIsAnAnnotation(t *testing.T) {
	for settings, want := range map[string]string{
		"": "", "ttlAfterFinished: 12h": "43200", "ttlAfterFinished: 30d": "2592000",
	} {
		ctr := generateRuntime(t, "", settings)
		if got := ctr.Annotations[v1alpha1.TTLAnnotation]; got != want {
			t.Errorf("%q: annotation %s = %q, want %q", settings, v1alpha1.TTLAnnotation, got, want)
		}
		if ttl := ctr.Spec.Template.Spec.TTLSecondsAfterFinished; ttl != nil {
			t.Errorf("%q: the JobSet is deleted after %d seconds", settings, *ttl)
		}
	}
}
