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
	cmd := &cobra.Command{
		Use:   "publish",
		Short: "Take a platform to a registry",
		Args:  knownKind,
		RunE:  func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(newPublishOCI(s, r), newPublishHelm(s, r))
	return cmd
}

// knownKind refuses what publish cannot do, where Cobra would take it for an argument.
func knownKind(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	var kinds []string
	for _, c := range cmd.Commands() {
		kinds = append(kinds, c.Name())
	}
	return oneOf("publish", args[0], kinds)
}

// publishFlags are what each kind of artifact is published by.
type publishFlags struct {
	input       inputFlags
	annotations map[string]string
	plainHTTP   bool
	dryRun      bool
	force       bool
	timeout     time.Duration
	output      string
}

// packing is an artifact, and what it is called where the command line does not say.
type packing struct {
	below    string // a repository below that of the command line; empty for that itself
	tag      string
	artifact artifact.Artifact
}

// packer makes an artifact of a bundle. Annotations are laid over those that it has by itself.
type packer func(ctx context.Context, b bundles.Bundle, annotations map[string]string) (packing, error)

func newPublishOCI(s streams, r *reporter) *cobra.Command {
	var f publishFlags
	cmd := &cobra.Command{
		Use:   "oci DEST",
		Short: "Publish the objects of a platform as an OCI artifact, for Argo CD and Flux",
		Long: `Pack the objects of a platform into an OCI artifact, and take it to a registry or a folder.
Nothing is written that is there already: the same objects are the same artifact, byte for byte.

DEST is one of
  oci://HOST/REPOSITORY[:TAG]  a repository of a registry
  oci-layout:DIR[:TAG]         a folder, an OCI image layout; other tags in it stay

Without TAG the artifact is tagged "latest" or, of a document with environments, by the name of
its environment; all environments are published then, and --env names one of them.

Standard output has a line for each artifact, with the digest that nobody can change:
HOST/REPOSITORY:TAG@sha256:... . Credentials are those that docker login or podman login left.

The exit code is 5 when the registry refuses the credentials, and 8 when time was over.`,
		Example: `  # Publish all environments: quay.io/acme/platform:dev, quay.io/acme/platform:prod
  trainyard publish oci oci://quay.io/acme/platform -f platform.yaml

  # One of them, and say from which commit
  trainyard publish oci oci://quay.io/acme/platform:v1.4 -f platform.yaml --env prod \
    --annotation org.opencontainers.image.revision=$(git rev-parse HEAD)

  # Which digest would it have?
  trainyard publish oci oci://quay.io/acme/platform -f platform.yaml --dry-run

  # Into a folder, for a machine without a registry
  trainyard publish oci oci-layout:dist -f platform.yaml`,
		Args: oneDestination,
		RunE: func(cmd *cobra.Command, args []string) error {
			return f.run(cmd.Context(), s, args[0], []string{registryScheme, layoutScheme}, packOCI)
		},
	}
	f.add(cmd, r)
	f.force = true // a tag such as prod is to move
	return cmd
}

func packOCI(ctx context.Context, b bundles.Bundle, annotations map[string]string) (packing, error) {
	a, err := bundles.OCI(ctx, b, annotations)
	return packing{tag: b.Tag(), artifact: a}, err
}

func oneDestination(cmd *cobra.Command, args []string) error {
	if len(args) != 1 {
		return &usageError{fmt.Errorf("%s wants one destination, such as oci://quay.io/acme/platform, got %d", cmd.CommandPath(), len(args))}
	}
	return nil
}

func (f *publishFlags) add(cmd *cobra.Command, r *reporter) {
	f.input.add(cmd, r, func() bool { return false })
	flags := cmd.Flags()
	flags.StringToStringVar(&f.annotations, "annotation", nil, "annotation of the artifact, KEY=VALUE (may be repeated)")
	flags.BoolVar(&f.plainHTTP, "plain-http", false, "talk to the registry without TLS where it does not speak it; registries on this machine need no such leave")
	flags.BoolVar(&f.dryRun, "dry-run", false, "say what would be published, and publish nothing")
	flags.DurationVar(&f.timeout, "timeout", 5*time.Minute, "how long a registry may take, at most")
	flags.StringVarP(&f.output, "output", "o", "text", "print format: text, json")
	_ = cmd.RegisterFlagCompletionFunc("output", cobra.FixedCompletions([]string{"text", "json"}, cobra.ShellCompDirectiveNoFileComp))
}

func (f *publishFlags) run(ctx context.Context, s streams, dest string, schemes []string, pack packer) error {
	to, err := parseDestination(dest, schemes, f.plainHTTP)
	if err != nil {
		return err
	}
	to.replace = f.force
	if !f.input.report.words() {
		s.err = io.Discard // a report is all that is there
	}
	platforms, err := f.platforms(ctx, s)
	if err != nil {
		return err
	}
	if to.tag != "" && len(platforms) > 1 {
		return &usageError{fmt.Errorf("%s is one artifact, and the document has environments: name one with --env (%s), or leave the tag away", dest, strings.Join(environments(platforms), ", "))}
	}
	parcels, err := f.pack(ctx, to, platforms, pack)
	if err != nil {
		return err
	}
	if !f.dryRun {
		err = f.deliver(ctx, s, to, parcels)
	}
	return errors.Join(f.print(s, parcels), err)
}

// platforms are those of the document, or the one that is wanted.
func (f *publishFlags) platforms(ctx context.Context, s streams) ([]generator.Platform, error) {
	if err := oneOf("--output", f.output, []string{"text", "json"}); err != nil {
		return nil, err
	}
	platforms, err := f.input.generate(ctx, s.in)
	f.input.report.note(notesOf(platforms))
	return platforms, err
}

// pack makes an artifact of each platform, before any of them goes anywhere.
func (f *publishFlags) pack(ctx context.Context, to destination, platforms []generator.Platform, pack packer) ([]*parcel, error) {
	var parcels []*parcel
	for _, p := range platforms {
		bundle, err := bundleOf(p)
		if err != nil {
			return nil, err
		}
		made, err := pack(ctx, bundle, f.annotations)
		if err != nil {
			return nil, fmt.Errorf("packing %s: %w", p.Name, err)
		}
		packed, err := made.artifact.Pack()
		if err != nil {
			return nil, fmt.Errorf("packing %s: %w", p.Name, err)
		}
		at, tag, err := to.forPacking(made)
		if err != nil {
			return nil, err
		}
		parcels = append(parcels, newParcel(at, p, tag, packed))
	}
	return parcels, nil
}

// deliver takes all to where they go, and says so. What has been delivered is told, even if another was not.
func (f *publishFlags) deliver(ctx context.Context, s streams, to destination, parcels []*parcel) error {
	ctx, cancel := context.WithTimeout(ctx, f.timeout)
	defer cancel()
	err := to.put(ctx, s, parcels)
	for _, p := range parcels {
		if p.Status != planned {
			fmt.Fprintf(s.err, "%s %s %s in %s\n", p.to, verbs[p.Status], count(p.Objects, "object"), size(p.Bytes))
		}
	}
	return err
}

// print tells the references of what is published, or with --dry-run would be.
func (f *publishFlags) print(s streams, parcels []*parcel) error {
	told := []*parcel{}
	for _, p := range parcels {
		if f.dryRun || p.Status != planned {
			told = append(told, p)
		}
	}
	if f.output == "json" {
		return printJSON(s.out, told)
	}
	for _, p := range told {
		if _, err := fmt.Fprintln(s.out, p.Reference); err != nil {
			return err
		}
	}
	return nil
}
