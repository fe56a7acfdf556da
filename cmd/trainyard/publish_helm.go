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
		Long: `Pack a platform as a Helm chart, and push it to a registry or write it to a folder, like helm package and
helm push. The same platform always makes the same chart, byte for byte.

DEST is one of
  oci://HOST/FOLDER   a folder of a registry; the chart is HOST/FOLDER/NAME, and its version is the tag
  oci-layout:DIR      a folder with an OCI image layout; the tag is NAME-VERSION, and other tags stay
  tgz:DIR             a folder for the file NAME-VERSION.tgz

NAME is the name of the platform, followed by the environment if the document has environments. All
environments are published; --env selects one of them. VERSION is spec.delivery.helm.version, 0.1.0 by
default.

Standard output has one line per chart, with its immutable digest. The command uses the credentials of
docker login, podman login or helm registry login.

If another chart with the same version exists, the command refuses with exit code 6: raise the version,
or replace the chart with --force.

The exit code is 5 if the registry denies access, and 8 after --timeout.`,
		Example: `  # Publish oci://quay.io/acme/charts/acme, and install it
  trainyard publish helm oci://quay.io/acme/charts -f platform.yaml
  helm install acme oci://quay.io/acme/charts/acme --version 1.4.0

  # Write the chart as a file
  trainyard publish helm tgz:dist -f platform.yaml

  # Print the digest without publishing
  trainyard publish helm oci://quay.io/acme/charts -f platform.yaml --dry-run`,
		Args: wantDestination,
		RunE: func(cmd *cobra.Command, args []string) error {
			if dir, ok := strings.CutPrefix(args[0], archiveScheme); ok {
				return f.writeArchives(cmd.Context(), s, dir)
			}
			return f.run(cmd.Context(), s, args[0], []string{registryScheme, layoutScheme, archiveScheme}, packHelm)
		},
	}
	f.add(cmd, r)
	cmd.Flags().BoolVar(&f.force, "force", false, "replace another chart of the same version")
	return cmd
}

func packHelm(ctx context.Context, b bundles.Bundle, annotations map[string]string) (namedArtifact, error) {
	p, err := bundles.PackHelm(ctx, b, annotations)
	if err != nil {
		return namedArtifact{}, err
	}
	packed, err := p.Artifact.Pack()
	return namedArtifact{subrepository: p.Name, tag: p.Version, packed: packed}, err
}

// archiveScheme is the prefix "tgz:" of a destination. For example, tgz:dist means that each chart is written to
// a file in the folder dist. The format of the file is that of the command "helm package".
const archiveScheme = "tgz:"

type archive struct {
	Environment string `json:"environment,omitempty"`
	File        string `json:"file"`
	Digest      string `json:"digest"` // of the file
	Status      string `json:"status"`
}

// writeArchives writes the chart of each environment to a folder, and prints a list of the charts. If one chart
// cannot be written, writeArchives stops, lists only the earlier charts, and returns an error.
func (f *publishFlags) writeArchives(ctx context.Context, s streams, dir string) error {
	switch {
	case dir == "":
		return usageErrorf(`destination "tgz:": want a folder, as in tgz:dist`)
	case len(f.annotations) > 0:
		return usageErrorf("--annotation applies only to OCI artifacts, because a file has no annotations: leave --annotation out")
	}
	platforms, err := f.input.generateWithNotes(ctx, s.in)
	if err != nil {
		return err
	}
	var archives []archive
	for _, p := range platforms {
		var a archive
		if a, err = f.writeArchive(ctx, p, dir); err != nil {
			break
		}
		archives = append(archives, a)
	}
	return errors.Join(printList(s.out, f.output, archives, func(a archive) string { return a.File + "@" + a.Digest }), err)
}

func (f *publishFlags) writeArchive(ctx context.Context, p generator.Platform, dir string) (archive, error) {
	chart, err := bundles.PackHelm(ctx, bundleOf(p), nil)
	if err != nil {
		return archive{}, fmt.Errorf("packing %s: %w", p.Name, err)
	}
	file := filepath.Join(dir, chart.Name+"-"+chart.Version+".tgz")
	status, err := f.writeFile(file, chart.Archive)
	return archive{p.Environment, file, fmt.Sprintf("sha256:%x", sha256.Sum256(chart.Archive)), status}, withForceHint(err)
}

func withForceHint(err error) error {
	if taken := (*registry.TakenError)(nil); errors.As(err, &taken) {
		return fmt.Errorf("%w; raise spec.delivery.helm.version, or replace the chart with --force", err)
	}
	return err
}

// writeFile writes a chart to a file in one atomic step. If the file already has the same content, writeFile leaves the
// file unchanged.
func (f *publishFlags) writeFile(file string, content []byte) (status string, err error) {
	if f.dryRun {
		return planned, nil
	}
	existing, err := os.ReadFile(file)
	if err == nil && bytes.Equal(existing, content) {
		return unchanged, nil
	}
	if _, err := os.Lstat(file); err == nil && !f.force {
		return "", &registry.TakenError{Tag: file, Digest: fmt.Sprintf("sha256:%x", sha256.Sum256(existing))}
	}
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil { //nolint:gosec // people share this folder
		return "", fmt.Errorf("creating the folder for charts: %w", err)
	}
	temp, err := os.CreateTemp(filepath.Dir(file), "."+filepath.Base(file)+".*")
	if err != nil {
		return "", fmt.Errorf("writing %s: %w", file, err)
	}
	defer func() { _ = os.Remove(temp.Name()) }() // after the rename, Remove fails because the file is gone
	_, err = temp.Write(content)
	if err = errors.Join(err, temp.Chmod(0o644), temp.Sync(), temp.Close()); err == nil {
		err = os.Rename(temp.Name(), file)
	}
	if err != nil {
		return "", fmt.Errorf("writing %s: %w", file, err)
	}
	return published, nil
}
