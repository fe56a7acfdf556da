package main

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"

	"github.com/spf13/cobra"

	"github.com/trainyard/trainyard/bundles"
	"github.com/trainyard/trainyard/generator/problem"
)

// permit refuses to lose files, runtimes and tenants, in all folders at once, and to remove what
// none of them loses.
func (f *generateFlags) permit(targets []target) error {
	var losses []string
	var going, used []string
	for _, t := range targets {
		if err := t.plan.Check(); err != nil {
			return err
		}
		change := bundles.Change{
			Old: bundles.ReadInventory(t.plan.Manifest()), New: bundles.Inventory(t.platform.Objects),
			Document: t.platform.Parts, Removed: f.remove,
		}
		unused, err := change.Keep()
		losses = append(losses, f.lossesOf(t, err)...)
		going = append(going, change.Going()...)
		for _, part := range f.remove {
			if !slices.Contains(unused, part) {
				used = append(used, part)
			}
		}
	}
	for _, part := range f.remove {
		if !slices.Contains(used, part) {
			return &usageError{f.idle(targets, part, going)}
		}
	}
	if len(losses) > 0 {
		return &bundles.LossError{Losses: losses}
	}
	return nil
}

// lossesOf are those of one folder, each with its name.
func (f *generateFlags) lossesOf(t target, err error) []string {
	var loss *bundles.LossError
	switch {
	case !errors.As(err, &loss):
		return nil
	case len(f.only) > 0:
		return []string{t.dir + ": holds more than --only selects: name a folder of its own for this part"}
	}
	losses := slices.Clone(loss.Losses)
	for i := range losses {
		losses[i] = t.dir + ": " + losses[i]
	}
	return losses
}

// idle says why a part cannot be removed of which no folder would lose anything.
func (f *generateFlags) idle(targets []target, part string, going []string) error {
	for _, t := range targets {
		if slices.Contains(t.platform.Parts, part) {
			return fmt.Errorf("--remove %s: the document still has it: take it out there first", part)
		}
	}
	why := "nothing of it would go"
	if len(going) == 0 {
		why = "nothing at all would go"
	}
	if meant := problem.Nearest(part, going); meant != "" {
		why += fmt.Sprintf(": did you mean %s?", meant)
	}
	return fmt.Errorf("--remove %s: %s", part, why)
}

// removable completes --remove with what the folder holds.
func (f *generateFlags) removable(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
	manifests, _ := filepath.Glob(filepath.Join(f.output, "*", bundles.ManifestName)) // the pattern is sound
	var parts []string
	for _, file := range append(manifests, filepath.Join(f.output, bundles.ManifestName)) {
		for _, e := range bundles.InventoryOf(file) {
			parts = append(parts, e.Parts()...)
		}
	}
	slices.Sort(parts)
	return slices.Compact(parts), cobra.ShellCompDirectiveNoFileComp
}
