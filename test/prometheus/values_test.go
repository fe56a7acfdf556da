package prometheus

import (
	"testing"

	"cuelang.org/go/cue"
	"cuelang.org/go/cue/cuecontext"
	"cuelang.org/go/cue/load"

	"github.com/trainyard/trainyard/test/grafanadata"
)

// readValues reads the test cases of recording rules in testdata/values. These test cases are not in the CUE package
// grafana. The reason is that the files of this package are embedded in the binary of trainyard, which does not need
// these test cases.
func readValues(t *testing.T) map[string]grafanadata.Record {
	t.Helper()
	instance := load.Instances([]string{"."}, &load.Config{Dir: "testdata/values"})[0]
	if instance.Err != nil {
		t.Fatal(instance.Err)
	}
	var records map[string]grafanadata.Record
	if err := cuecontext.New().BuildInstance(instance).LookupPath(cue.ParsePath("records")).Decode(&records); err != nil {
		t.Fatal(err)
	}
	return records
}

func TestRecordsHaveTests(t *testing.T) {
	g, values := grafana(t), readValues(t)
	for _, name := range grafanadata.Sorted(g.Records) {
		if len(g.Records[name].Tests)+len(values[name].Tests) == 0 {
			t.Errorf("%s has no test: add one to testdata/values", name)
		}
	}
}
