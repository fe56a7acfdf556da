package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/trainyard/trainyard/bundles"
	"github.com/trainyard/trainyard/bundles/artifact"
	"github.com/trainyard/trainyard/generator"
)

func newPublish(s streams, r *reporter) *cobra.Command {
	return newGroup(&cobra.Command{
		Use:   "publish",
		Short: "Publish a platform to a registry",
		Example: `  # As an OCI artifact, for Argo CD and Flux
  trainyard publish oci oci://quay.io/acme/platform -f platform.yaml

  # As a Helm chart
  trainyard publish helm oci://quay.io/acme/charts -f platform.yaml`,
	}, newPublishOCI(s, r), newPublishHelm(s, r))
}

type publishFlags struct {
	input       inputFlags
	annotations map[string]string
	plainHTTP   bool
	dryRun      bool
	force       bool
	timeout     time.Duration
	output      string
}

type namedArtifact struct {
	subrepository string // path below the repository in DEST; empty for the repository itself
	tag           string
	packed        artifact.Packed
}

// packer packs a bundle as an artifact. The given annotations override the annotations of the bundle.
type packer func(ctx context.Context, b bundles.Bundle, annotations map[string]string) (namedArtifact, error)

func newPublishOCI(s streams, r *reporter) *cobra.Command {
	var f publishFlags
	cmd := &cobra.Command{
		Use:   "oci DEST",
		Short: "Publish the objects of a platform as an OCI artifact, for Argo CD and Flux",
		Long: `Pack the objects of a platform as an OCI artifact, and push it to a registry or write it to a folder. The
same objects always make the same artifact, byte for byte. An artifact that already exists is not pushed
again.

DEST is one of
  oci://HOST/REPOSITORY[:TAG]  a repository of a registry
  oci-layout:DIR[:TAG]         a folder with an OCI image layout; its other tags stay

Without TAG, the tag is the name of the environment, or "latest" if the document has no environments.
All environments are published; --env selects one of them.

Standard output has one line per artifact, with its immutable digest: HOST/REPOSITORY:TAG@sha256:...
The command uses the credentials of docker login or podman login.

The exit code is 5 if the registry denies access, and 8 after --timeout.`,
		Example: `  # Publish all environments: quay.io/acme/platform:dev, quay.io/acme/platform:prod
  trainyard publish oci oci://quay.io/acme/platform -f platform.yaml

  # Publish one environment, and record the commit
  trainyard publish oci oci://quay.io/acme/platform:v1.4 -f platform.yaml --env prod \
    --annotation org.opencontainers.image.revision=$(git rev-parse HEAD)

  # Print the digest without publishing
  trainyard publish oci oci://quay.io/acme/platform -f platform.yaml --dry-run

  # Write to a folder, for a machine without a registry
  trainyard publish oci oci-layout:dist -f platform.yaml`,
		Args: wantDestination,
		RunE: func(cmd *cobra.Command, args []string) error {
			return f.run(cmd.Context(), s, args[0], []string{registryScheme, layoutScheme}, packOCI)
		},
	}
	f.add(cmd, r)
	f.force = true // a tag such as prod moves to the new artifact
	return cmd
}

var wantDestination = wantArg(true, "one destination, such as oci://quay.io/acme/platform")

func packOCI(ctx context.Context, b bundles.Bundle, annotations map[string]string) (namedArtifact, error) {
	a, err := bundles.OCI(ctx, b, annotations)
	if err != nil {
		return namedArtifact{}, err
	}
	packed, err := a.Pack()
	return namedArtifact{tag: b.Tag(), packed: packed}, err
}

func (f *publishFlags) add(cmd *cobra.Command, r *reporter) {
	f.input.add(cmd, r, nil)
	flags := cmd.Flags()
	flags.StringToStringVar(&f.annotations, "annotation", nil, "annotation of the artifact, KEY=VALUE (repeatable)")
	flags.BoolVar(&f.plainHTTP, "plain-http", false, "fall back to HTTP if the registry does not support TLS; registries on this machine, at private IP addresses, or with names in .local need no flag")
	flags.BoolVar(&f.dryRun, "dry-run", false, "print the references, and publish nothing")
	flags.DurationVar(&f.timeout, "timeout", 5*time.Minute, "time limit for the registry")
	addOutput(cmd, &f.output, textOrJSON)
}

func (f *publishFlags) run(ctx context.Context, s streams, dest string, schemes []string, pack packer) error {
	to, err := parseDestination(dest, schemes, f.plainHTTP)
	if err != nil {
		return err
	}
	to.replace = f.force
	if !f.input.report.isText() {
		s.err = io.Discard // standard error must contain only the report
	}
	platforms, err := f.input.generateWithNotes(ctx, s.in)
	if err != nil {
		return err
	}
	if to.tag != "" && len(platforms) > 1 {
		return usageErrorf("destination %q: the document has several environments, but a tag names only one artifact: name an environment with --env (one of %s), or leave out the tag", dest, strings.Join(environments(platforms), ", "))
	}
	uploads, err := f.pack(ctx, to, platforms, pack)
	if err != nil {
		return err
	}
	if !f.dryRun {
		err = f.upload(ctx, s, to, uploads)
	}
	return errors.Join(f.print(s, uploads), err)
}

// pack packs the bundle of each platform as an artifact. All artifacts are packed before the first
// upload.
func (f *publishFlags) pack(ctx context.Context, to destination, platforms []generator.Platform, pack packer) ([]*upload, error) {
	var uploads []*upload
	for _, p := range platforms {
		named, err := pack(ctx, bundleOf(p), f.annotations)
		if err != nil {
			return nil, fmt.Errorf("packing %s: %w", p.Name, err)
		}
		target, tag, err := to.forArtifact(named)
		if err != nil {
			return nil, err
		}
		uploads = append(uploads, newUpload(target, p, tag, named.packed))
	}
	return uploads, nil
}

// upload sends the artifacts to their destination. If one artifact cannot be uploaded, the method still
// reports the artifacts that were uploaded before.
func (f *publishFlags) upload(ctx context.Context, s streams, to destination, uploads []*upload) error {
	ctx, cancel := context.WithTimeout(ctx, f.timeout)
	defer cancel()
	err := to.upload(ctx, s, uploads)
	for _, u := range uploads {
		if u.Status != planned {
			fmt.Fprintf(s.err, "%s %s %s in %s\n", u.name, verbs[u.Status], count(u.Objects, "object"), size(u.Bytes))
		}
	}
	return err
}

// print writes the references of the artifacts that were uploaded, or that the destination already contained. If
// --dry-run is set, nothing is uploaded, and the method writes the references of all artifacts.
func (f *publishFlags) print(s streams, uploads []*upload) error {
	var done []*upload
	for _, u := range uploads {
		if f.dryRun || u.Status != planned {
			done = append(done, u)
		}
	}
	return printList(s.out, f.output, done, func(u *upload) string { return u.Reference })
}
