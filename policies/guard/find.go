package guard

import "fmt"

// NoParametersError says that there are no rules for a namespace.
type NoParametersError struct{ Tenant string }

// Error names the namespace.
func (e *NoParametersError) Error() string {
	return fmt.Sprintf("namespace %s has no rules for TrainJobs", e.Tenant)
}

// Find looks for what holds for a tenant among the objects of a platform: its parameters, and the
// reader for the platform's version of Trainer. None is a *NoParametersError.
func Find(objects []map[string]any, tenant string) (Parameters, Reader, error) {
	for _, object := range objects {
		t := tree{value: object}
		if t.get("kind").text() != "ConfigMap" || t.get("metadata", "namespace").text() != "trainyard-system" ||
			t.get("metadata", "name").text() != "trainyard-"+tenant {
			continue
		}
		data := map[string]string{}
		for _, key := range t.get("data").keys() {
			data[key] = t.get("data", key).text()
		}
		parameters, err := ReadParameters(data)
		if err != nil {
			return parameters, Reader{}, err
		}
		reader, err := ReaderFor(data["trainer"])
		return parameters, reader, err
	}
	return Parameters{}, Reader{}, &NoParametersError{tenant}
}
