package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/trainyard/trainyard/bundles"
	"github.com/trainyard/trainyard/cmd/internal/report"
	"github.com/trainyard/trainyard/generator"
	"github.com/trainyard/trainyard/generator/problem"
)

type target struct {
	dir      string
	platform generator.Platform
	files    int
	plan     *bundles.Plan
}

// write writes each bundle. If --check is set, the function lists the differences between the folders and the new
// bundles, and writes nothing. The function plans the changes of all folders before it changes the first folder.
func (f *generateFlags) write(ctx context.Context, s streams, format bundles.Format, platforms []generator.Platform) error {
	w := &bundles.Writer{
		Force:       f.force,
		KeepUnknown: f.keepUnknown,
		ReadOnly:    f.check,
		Note:        s.note,
	}
	defer w.Close()
	targets, err := f.plan(ctx, w, format, platforms)
	if err != nil {
		return err
	}
	f.noteOtherBundles(s, targets)
	if f.check {
		if !f.input.report.isText() {
			f.input.report.addNeeds(platforms)
		}
		return reportDifferences(s, targets)
	}
	if err := f.checkRemovals(targets); err != nil {
		return err
	}
	changes := false
	for _, t := range targets {
		changed, err := t.plan.Write(ctx)
		if err != nil {
			return err
		}
		verb := "is up to date and holds"
		if changed {
			verb, changes = "now holds", true
		}
		fmt.Fprintf(s.err, "%s %s %s\n", t.dir, verb, t)
	}
	if changes || !f.input.report.isText() {
		f.input.report.addNeeds(platforms)
	}
	return nil
}

func (s streams) note(text string) { fmt.Fprintf(s.err, "note: %s\n", text) }

// String returns the size of the bundle, as in: 9 objects in 11 files.
func (t target) String() string {
	return fmt.Sprintf("%s in %s", count(t.platform.Objects.Len(), "object"), count(t.files, "file"))
}

func (f *generateFlags) plan(ctx context.Context, w *bundles.Writer, format bundles.Format, platforms []generator.Platform) ([]target, error) {
	var targets []target
	for _, p := range platforms {
		tree, err := render(ctx, format, p)
		if err != nil {
			return nil, err
		}
		tree = tree.WithInventory(p.Objects)
		t := target{dir: f.output, platform: p, files: tree.Len()}
		if !f.input.environmentGiven() {
			t.dir = filepath.Join(f.output, p.Environment)
		}
		if t.plan, err = w.Plan(ctx, tree, t.dir); err != nil {
			return nil, err
		}
		targets = append(targets, t)
	}
	return targets, nil
}

// render converts a platform to the files of a format. If the document lacks a field that the format needs, or if
// the objects are too large for the format, render returns a problem.List.
func render(ctx context.Context, format bundles.Format, p generator.Platform) (bundles.Tree, error) {
	tree, err := format.Render(ctx, bundleOf(p))
	if missing := (*bundles.MissingError)(nil); errors.As(err, &missing) {
		return tree, problem.List{{Position: p.Position, Rule: formatNeeds, Path: missing.Path, Message: missing.Message}}
	}
	if err != nil {
		return tree, fmt.Errorf("rendering as %s: %w", format.Name(), err)
	}
	return tree, nil
}

func bundleOf(p generator.Platform) bundles.Bundle {
	return bundles.Bundle{Platform: p.Name, Environment: p.Environment, Objects: p.Objects, Delivery: p.Delivery}
}

var formatNeeds = problem.Rule{Name: "format-needs", Doc: "The document sets all fields that the value of --format requires"}

// reportDifferences returns an error if a folder differs from its bundle. The error lists all differences of all
// folders.
func reportDifferences(s streams, targets []target) error {
	var differences []string
	for _, t := range targets {
		for _, difference := range t.plan.Differences() {
			differences = append(differences, filepath.Join(t.dir, difference))
		}
	}
	if len(differences) > 0 {
		return &exitError{error: errors.New("not up to date"), result: report.Report{ExitCode: exitDiffers, Failures: differences}}
	}
	for _, t := range targets {
		fmt.Fprintf(s.err, "%s is up to date and holds %s\n", t.dir, t)
	}
	return nil
}

// noteOtherBundles looks for bundles in the output folder, and prints a note for each bundle that belongs to no
// environment of the document.
func (f *generateFlags) noteOtherBundles(s streams, targets []target) {
	if targets[0].dir == f.output {
		return
	}
	for _, manifest := range f.manifests() {
		dir := filepath.Dir(manifest)
		if !slices.ContainsFunc(targets, func(t target) bool { return t.dir == dir }) {
			s.note(dir + " contains the bundle of an environment that the document does not have; remove the folder if its cluster is gone")
		}
	}
	if _, err := os.Stat(filepath.Join(f.output, bundles.ManifestName)); err == nil {
		s.note(f.output + " itself contains a bundle, which was written for one environment, or before the document had environments; move the files of this bundle away")
	}
}

func (f *generateFlags) manifests() []string {
	manifests, _ := filepath.Glob(filepath.Join(f.output, "*", bundles.ManifestName)) // Glob fails only if the pattern is invalid
	return manifests
}
