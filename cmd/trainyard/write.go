package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/trainyard/trainyard/bundles"
	"github.com/trainyard/trainyard/generator"
	"github.com/trainyard/trainyard/generator/problem"
)

// target is one folder, and what is to become of it.
type target struct {
	dir      string
	platform generator.Platform
	files    int
	plan     *bundles.Plan
}

// write makes every folder hold its bundle, or with --check says which do not.
// Nothing is written before all folders have been looked at.
func (f *generateFlags) write(ctx context.Context, s streams, platforms []generator.Platform) error {
	w := &bundles.Writer{
		Force:       f.force,
		KeepUnknown: f.keepUnknown,
		ReadOnly:    f.check,
		Tell:        func(note string) { fmt.Fprintf(s.err, "note: %s\n", note) },
	}
	defer w.Close()
	targets, err := f.plan(ctx, w, platforms)
	if err != nil {
		return err
	}
	f.warnOfOthers(s, targets)
	if f.check {
		return differences(s, targets)
	}
	if err := f.permit(targets); err != nil {
		return err
	}
	for _, t := range targets {
		changed, err := t.plan.Write(ctx)
		if err != nil {
			return err
		}
		verb := "is up to date with"
		if changed {
			verb = "now holds"
		}
		fmt.Fprintf(s.err, "%s %s %s\n", t.dir, verb, t)
	}
	return nil
}

// String says what a folder is to hold.
func (t target) String() string {
	return fmt.Sprintf("%s in %s", count(t.platform.Objects.Len(), "object"), count(t.files, "file"))
}

// plan renders each platform for its folder.
func (f *generateFlags) plan(ctx context.Context, w *bundles.Writer, platforms []generator.Platform) ([]target, error) {
	format, _ := bundles.Named(f.format)
	var targets []target
	for _, p := range platforms {
		tree, err := render(ctx, format, p)
		if err != nil {
			return nil, err
		}
		tree = tree.Holding(p.Objects)
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

// render lays a platform out as files.
func render(ctx context.Context, format bundles.Format, p generator.Platform) (bundles.Tree, error) {
	bundle, err := bundleOf(p)
	if err != nil {
		return bundles.Tree{}, err
	}
	tree, err := format.Render(ctx, bundle)
	if missing := (*bundles.MissingError)(nil); errors.As(err, &missing) {
		return tree, problem.List{{Position: p.Delivery.Position, Rule: formatNeeds, Path: missing.Path, Message: missing.Message}}
	}
	if err != nil {
		return tree, fmt.Errorf("rendering as %s: %w", format.Name(), err)
	}
	return tree, nil
}

// bundleOf is what formats render of a platform.
func bundleOf(p generator.Platform) (bundles.Bundle, error) {
	delivery, err := bundles.ReadDelivery(p.Delivery)
	return bundles.Bundle{Platform: p.Name, Environment: p.Environment, Objects: p.Objects, Delivery: delivery}, err
}

// formatNeeds is the rule that a document breaks which lacks something for --format.
var formatNeeds = problem.Rule{Name: "format-needs", Doc: "A document says what the format of the bundle has to know"}

// differences lists what is not up to date.
func differences(s streams, targets []target) error {
	var found []string
	for _, t := range targets {
		for _, difference := range t.plan.Differences() {
			found = append(found, filepath.Join(t.dir, difference))
		}
	}
	if len(found) > 0 {
		return &differError{found}
	}
	for _, t := range targets {
		fmt.Fprintf(s.err, "%s is up to date with %s\n", t.dir, t)
	}
	return nil
}

// warnOfOthers points at bundles of environments that the document no longer has.
func (f *generateFlags) warnOfOthers(s streams, targets []target) {
	if targets[0].dir == f.output {
		return
	}
	manifests, _ := filepath.Glob(filepath.Join(f.output, "*", bundles.ManifestName)) // the pattern is sound
	for _, manifest := range manifests {
		dir := filepath.Dir(manifest)
		if !slices.ContainsFunc(targets, func(t target) bool { return t.dir == dir }) {
			fmt.Fprintf(s.err, "note: %s holds a bundle of no environment of the document; remove it if its cluster is gone\n", dir)
		}
	}
	if _, err := os.Stat(filepath.Join(f.output, bundles.ManifestName)); err == nil {
		fmt.Fprintf(s.err, "note: %s itself holds a bundle, from before the document had environments; move its files away\n", f.output)
	}
}
