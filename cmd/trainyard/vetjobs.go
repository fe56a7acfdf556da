package main

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/trainyard/trainyard/generator"
	"github.com/trainyard/trainyard/policies/cases"
	"github.com/trainyard/trainyard/policies/guard"
)

// deniedError says what rules have against TrainJobs, one line each.
type deniedError struct{ broken []string }

// Error says how much there is.
func (d *deniedError) Error() string { return count(len(d.broken), "broken rule") }

// vetJobs holds files of TrainJobs against the rules of a platform, in each of its environments.
func vetJobs(cmd *cobra.Command, s streams, f inputFlags, files []string, tenant string) error {
	switch {
	case len(files) == 0:
		return &usageError{errors.New("--tenant is about TrainJobs: want files of them, as in: trainyard vet job.yaml -f platform.yaml")}
	case len(f.files) == 0 && f.example == "":
		return noArgs(cmd, files)
	case !f.report.words():
		return &usageError{errors.New("--report is about documents: leave it out to check TrainJobs")}
	}
	platforms, err := f.generate(cmd.Context(), s.in)
	if err != nil {
		return err
	}
	var broken []string
	total := 0
	for _, name := range files {
		file, err := readFile(name, s.in)
		if err != nil {
			return err
		}
		jobs, err := cases.Jobs(file.Text)
		if err != nil {
			return &usageError{fmt.Errorf("reading %s: %w", name, err)}
		}
		for _, job := range jobs {
			found, err := vetJob(platforms, job, tenant)
			if err != nil {
				return err
			}
			for _, message := range found {
				broken = append(broken, name+": "+message)
			}
		}
		total += len(jobs)
	}
	if len(broken) > 0 {
		return &deniedError{broken}
	}
	fmt.Fprintf(s.err, "%s may be submitted\n", count(total, "TrainJob"))
	return nil
}

// vetJob judges a TrainJob of a tenant, by default the one whose namespace it names.
func vetJob(platforms []generator.Platform, job map[string]any, tenant string) ([]string, error) {
	if tenant == "" {
		metadata, _ := job["metadata"].(map[string]any)
		tenant, _ = metadata["namespace"].(string)
	}
	if tenant == "" {
		return nil, &usageError{errors.New("want --tenant NAMESPACE, because a TrainJob names none")}
	}
	var all []string
	for _, platform := range platforms {
		parameters, reader, err := guard.Find(fieldsOf(platform), tenant)
		var none *guard.NoParametersError
		if errors.As(err, &none) {
			return nil, &usageError{fmt.Errorf("%w: want a tenant that lists runtimes, and spec.admission.enforce other than none", err)}
		}
		if err != nil {
			return nil, err
		}
		read, wrong := reader.Read(job)
		for _, misfit := range wrong {
			all = append(all, inEnvironment(platform, misfit.Field+": "+misfit.Detail))
		}
		for _, denial := range guard.Judge(read, parameters) {
			all = append(all, inEnvironment(platform, denial.String()))
		}
	}
	return all, nil
}

func inEnvironment(platform generator.Platform, message string) string {
	if platform.Environment == "" {
		return message
	}
	return "in " + platform.Environment + ": " + message
}

// fieldsOf are the objects of a platform, as decoded JSON.
func fieldsOf(platform generator.Platform) []map[string]any {
	var all []map[string]any
	for o := range platform.Objects.All() {
		all = append(all, o.Fields())
	}
	return all
}
