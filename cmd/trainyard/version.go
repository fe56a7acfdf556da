package main

import (
	"fmt"
	"runtime"
	"strings"

	"github.com/spf13/cobra"

	"github.com/trainyard/trainyard/api/v1alpha1"
	"github.com/trainyard/trainyard/cmd/internal/build"
)

// trainerVersions are the minor versions of Kubeflow Trainer that a document can target.
var trainerVersions = []string{"2.1", "2.2", "2.3"}

type version struct {
	Version string   `json:"version"` // version of the Go module, or "(devel)" if built from a working copy
	Commit  string   `json:"commit,omitempty"`
	Go      string   `json:"go"`
	Schemas []string `json:"schemas"` // supported apiVersions of documents
	Trainer []string `json:"trainer"` // supported minor versions of Kubeflow Trainer
}

func newVersion(s streams) *cobra.Command {
	var output string
	cmd := &cobra.Command{
		Use:     "version",
		Short:   "Print the version of trainyard, and the supported versions of documents and of Kubeflow Trainer",
		Example: "  trainyard version\n  trainyard version -o json",
		Args:    noArgs,
		RunE: func(*cobra.Command, []string) error {
			v := currentVersion()
			if output == "json" {
				return printJSON(s.out, v)
			}
			_, err := fmt.Fprintf(s.out, "trainyard %s\nsupports %s\ntargets Kubeflow Trainer %s\n", v.Version, v.Schemas[0], strings.Join(v.Trainer, ", "))
			return err
		},
	}
	addOutput(cmd, &output, textOrJSON)
	return cmd
}

func currentVersion() version {
	number, commit := build.Version()
	return version{
		Version: number,
		Commit:  commit,
		Go:      runtime.Version(),
		Schemas: []string{v1alpha1.APIVersion},
		Trainer: trainerVersions,
	}
}
