package main

import (
	"encoding/json"
	"fmt"
	"runtime"
	"strings"

	"github.com/spf13/cobra"

	"github.com/trainyard/trainyard/cmd/internal/build"
)

// version describes this binary.
type version struct {
	Version string   `json:"version"` // as the Go module system names it; "(devel)" from a working copy
	Commit  string   `json:"commit,omitempty"`
	Go      string   `json:"go"`
	Schemas []string `json:"schemas"` // apiVersions of documents that are understood
	Trainer []string `json:"trainer"` // Kubeflow Trainer minor versions that can be targeted
}

func newVersion(s streams) *cobra.Command {
	var output string
	cmd := &cobra.Command{
		Use:     "version",
		Short:   "Print the version, and what it understands",
		Example: "  trainyard version\n  trainyard version -o json",
		Args:    noArgs,
		RunE:    func(*cobra.Command, []string) error { return printVersion(s, output) },
	}
	cmd.Flags().StringVarP(&output, "output", "o", "text", "print format: text, json")
	_ = cmd.RegisterFlagCompletionFunc("output", cobra.FixedCompletions([]string{"text", "json"}, cobra.ShellCompDirectiveNoFileComp))
	return cmd
}

func printVersion(s streams, output string) error {
	if err := oneOf("--output", output, []string{"text", "json"}); err != nil {
		return err
	}
	v := currentVersion()
	if output == "json" {
		encoder := json.NewEncoder(s.out)
		encoder.SetIndent("", "  ")
		return encoder.Encode(v)
	}
	_, err := fmt.Fprintf(s.out, "trainyard %s\nunderstands %s\ntargets Kubeflow Trainer %s\n", v.Version, v.Schemas[0], strings.Join(v.Trainer, ", "))
	return err
}

func currentVersion() version {
	number, commit := build.Version()
	return version{
		Version: number,
		Commit:  commit,
		Go:      runtime.Version(),
		Schemas: []string{"trainyard.dev/v1alpha1"},
		Trainer: []string{"2.1", "2.2", "2.3"},
	}
}
