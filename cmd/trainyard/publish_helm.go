package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/trainyard/trainyard/bundles"
	"github.com/trainyard/trainyard/bundles/registry"
	"github.com/trainyard/trainyard/generator"
)

func newPublishHelm(s streams, r *reporter) *cobra.Command {
	var f publishFlags
	cmd := &cobra.Command{
		Use:   "helm DEST",
		Short: "Publish a platform as a Helm chart",
		Long: `Pack a platform as a Helm chart, and take it to a registry or a folder, as helm package and helm
push do. The same platform is the same chart, byte for byte.

DEST is one of
  oci://HOST/FOLDER   a folder of a registry: the chart is HOST/FOLDER/NAME, and its tag its version
  oci-layout:DIR      a folder, an OCI image layout, in which its tag is NAME-VERSION; other tags stay
  tgz:DIR             a folder, in which the chart is the file NAME-VERSION.tgz

NAME is the platform's, with its environment where there are some; all environments are published
then, and --env names one of them. The version is spec.delivery.helm.version, 0.1.0 by default.

Standard output has a line for each chart, with the digest that nobody can change. Credentials are
those that docker login, podman login or helm registry login left.

A version that is there already and is another chart is left alone (exit code 6): raise the
version, or say --force.

The exit code is 5 when the registry refuses the credentials, and 8 when time was over.`,
		Example: `  # Publish oci://quay.io/acme/charts/acme, and install it
  trainyard publish helm oci://quay.io/acme/charts -f platform.yaml
  helm install acme oci://quay.io/acme/charts/acme --version 1.4.0

  # In a file
  trainyard publish helm tgz:dist -f platform.yaml

  # Which digest would it have?
  trainyard publish helm oci://quay.io/acme/charts -f platform.yaml --dry-run`,
		Args: oneDestination,
		RunE: func(cmd *cobra.Command, args []string) error {
			if dir, ok := strings.CutPrefix(args[0], archiveScheme); ok {
				return f.save(cmd.Context(), s, dir)
			}
			return f.run(cmd.Context(), s, args[0], []string{registryScheme, layoutScheme, archiveScheme}, packHelm)
		},
	}
	f.add(cmd, r)
	cmd.Flags().BoolVar(&f.force, "force", false, "replace a chart of the same version that is another")
	return cmd
}

func packHelm(ctx context.Context, b bundles.Bundle, annotations map[string]string) (packing, error) {
	p, err := bundles.PackHelm(ctx, b, annotations)
	return packing{below: p.Name, tag: p.Version, artifact: p.Artifact}, err
}

// archiveScheme begins a folder for charts in files, as helm package writes them.
const archiveScheme = "tgz:"

// saved is a chart in a file.
type saved struct {
	Environment string `json:"environment,omitempty"`
	File        string `json:"file"`
	Digest      string `json:"digest"` // of the file
	Status      string `json:"status"`
}

// save writes the chart of each environment into a folder, NAME-VERSION.tgz.
func (f *publishFlags) save(ctx context.Context, s streams, dir string) error {
	switch {
	case dir == "":
		return &usageError{errors.New("destination tgz: want a folder, as in tgz:dist")}
	case len(f.annotations) > 0:
		return &usageError{errors.New("--annotation is about an artifact: a file has none")}
	}
	platforms, err := f.platforms(ctx, s)
	if err != nil {
		return err
	}
	told, err := f.saveAll(ctx, platforms, dir)
	return errors.Join(f.printSaved(s, told), err)
}

// saveAll returns what it has saved, also where another chart could not be.
func (f *publishFlags) saveAll(ctx context.Context, platforms []generator.Platform, dir string) ([]saved, error) {
	told := []saved{}
	for _, p := range platforms {
		bundle, err := bundleOf(p)
		if err != nil {
			return told, err
		}
		chart, err := bundles.PackHelm(ctx, bundle, nil)
		if err != nil {
			return told, fmt.Errorf("packing %s: %w", p.Name, err)
		}
		file := filepath.Join(dir, chart.Name+"-"+chart.Version+".tgz")
		status, err := f.keep(file, chart.Archive)
		if err != nil {
			return told, advised(err)
		}
		told = append(told, saved{p.Environment, file, fmt.Sprintf("sha256:%x", sha256.Sum256(chart.Archive)), status})
	}
	return told, nil
}

func (f *publishFlags) printSaved(s streams, told []saved) error {
	if f.output == "json" {
		return printJSON(s.out, told)
	}
	for _, t := range told {
		if _, err := fmt.Fprintln(s.out, t.File+"@"+t.Digest); err != nil {
			return err
		}
	}
	return nil
}

// advised says what to do about a version that is another chart already.
func advised(err error) error {
	if taken := (*registry.TakenError)(nil); errors.As(err, &taken) {
		return fmt.Errorf("%w; raise spec.delivery.helm.version, or replace it with --force", err)
	}
	return err
}

// keep makes a file hold an archive, as a whole or not at all. One that does already is left alone.
func (f *publishFlags) keep(file string, archive []byte) (status string, err error) {
	if f.dryRun {
		return planned, nil
	}
	there, err := os.ReadFile(file)
	if err == nil && bytes.Equal(there, archive) {
		return unchanged, nil
	}
	if _, err := os.Lstat(file); err == nil && !f.force {
		return "", &registry.TakenError{Tag: file, Digest: fmt.Sprintf("sha256:%x", sha256.Sum256(there))}
	}
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil { //nolint:gosec // as any folder that people make
		return "", fmt.Errorf("making the folder for charts: %w", err)
	}
	half, err := os.CreateTemp(filepath.Dir(file), "."+filepath.Base(file)+".*")
	if err != nil {
		return "", fmt.Errorf("writing a chart: %w", err)
	}
	defer func() { _ = os.Remove(half.Name()) }() // gone once it is whole
	_, err = half.Write(archive)
	if err = errors.Join(err, half.Chmod(0o644), half.Sync(), half.Close()); err != nil {
		return "", fmt.Errorf("writing a chart: %w", err)
	}
	if err := os.Rename(half.Name(), file); err != nil {
		return "", fmt.Errorf("writing a chart: %w", err)
	}
	return published, nil
}
