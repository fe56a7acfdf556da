package build

import "testing"

func TestInstallCommandNamesAVersionThatGoCanInstall(t *testing.T) {
	for version, want := range map[string]string{
		"(devel)":                            "latest",
		"v0.4.0":                             "v0.4.0",
		"v0.0.0-20261126152756-c4bec4da0c1e": "v0.0.0-20261126152756-c4bec4da0c1e",
		"v0.0.0-20261126152756-c4bec4da0c1e+dirty": "latest",
	} {
		if got := installCommand("trainyard-fn", version); got != "go install github.com/trainyard/trainyard/cmd/trainyard-fn@"+want {
			t.Errorf("version %s: got %s, want version %s", version, got, want)
		}
	}
}
