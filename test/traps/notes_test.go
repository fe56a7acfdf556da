package traps

import (
	"bytes"
	"os"
	"path"
	"strings"
	"testing"

	trainer "github.com/kubeflow/trainer/v2/pkg/apis/trainer/v1alpha1"
	"sigs.k8s.io/yaml"

	"github.com/trainyard/trainyard"
	"github.com/trainyard/trainyard/api/v1alpha1"
	"github.com/trainyard/trainyard/generator"
	"github.com/trainyard/trainyard/test/repo"
)

// mpiNames maps values of the runtime's MPI label to names of MPI implementations. Trainer's field
// mpiImplementation has no values for these implementations.
var mpiNames = map[string]string{"intel": "Intel MPI", "mpich": "MPICH"}

// TestNotesExplainSurprisingValues checks notes about two values of runtimes: numNodes in mlPolicy is always 1, and
// mpiImplementation is always OpenMPI. The values of numNodes and mpiImplementation look like mistakes, but an admin who
// corrected them would break the runtime.
func TestNotesExplainSurprisingValues(t *testing.T) {
	bases, err := generator.New(trainyard.CUE).Catalogue()
	if err != nil {
		t.Fatal(err)
	}
	named := map[string]bool{}
	for _, base := range bases {
		for _, settings := range []string{"", "numNodes: 8", "numNodes: 8, runLauncherAsNode: false"} {
			named[expectNotes(t, base+" "+settings, generateFrom(t, base, "", settings))] = true
		}
	}
	if !named["Intel MPI"] || !named["MPICH"] {
		t.Errorf("the catalogue has runtimes of %v, want Intel MPI and MPICH among them", named)
	}
}

func TestNotesAreRendered(t *testing.T) {
	named, read := map[string]bool{}, 0
	for _, file := range repo.Files(t) {
		if !strings.HasPrefix(file, "bundles/rendered/") || path.Base(file) != "manifests.yaml" {
			continue
		}
		text, err := os.ReadFile(repo.Path(t, file))
		if err != nil {
			t.Fatal(err)
		}
		for _, document := range bytes.Split(text, []byte("\n---\n")) {
			var ctr trainer.ClusterTrainingRuntime // a TrainingRuntime has the same fields
			if !bytes.Contains(document, []byte("TrainingRuntime")) || yaml.Unmarshal(document, &ctr) != nil || !strings.HasSuffix(ctr.Kind, "TrainingRuntime") {
				continue
			}
			named[expectNotes(t, file+": "+ctr.Name, ctr)] = true
			read++
		}
	}
	if read < 15 || !named["Intel MPI"] || !named["MPICH"] {
		t.Errorf("read %d runtimes of %v, want at least 15, and Intel MPI and MPICH among them", read, named)
	}
}

// expectNotes checks the notes of a runtime. If the notes must name an MPI implementation,
// expectNotes returns this name. Otherwise, it returns an empty string.
func expectNotes(t *testing.T, name string, ctr trainer.ClusterTrainingRuntime) string {
	t.Helper()
	notes := ctr.Annotations[v1alpha1.NotesAnnotation]
	if *ctr.Spec.MLPolicy.NumNodes == 1 && !strings.Contains(notes, "mlPolicy.numNodes is always 1") {
		t.Errorf("%s: the notes do not explain mlPolicy.numNodes: %q", name, notes)
	}
	mpi := mpiNames[ctr.Labels[v1alpha1.MPILabel]]
	explained := strings.Contains(notes, "mpiImplementation is OpenMPI") && strings.Contains(notes, "The pods run "+mpi+".")
	if mpi != "" && !explained {
		t.Errorf("%s: the notes do not explain mpiImplementation on %s: %q", name, mpi, notes)
	}
	if mpi == "" && strings.Contains(notes, "mpiImplementation") {
		t.Errorf("%s: the notes name mpiImplementation, which is right for this runtime: %q", name, notes)
	}
	return mpi
}
