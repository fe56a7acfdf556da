package main

import (
	"errors"
	"path/filepath"
	"slices"

	"github.com/spf13/cobra"

	"github.com/trainyard/trainyard/api/message"
	"github.com/trainyard/trainyard/bundles"
)

// checkRemovals returns an error if the run would lose edited or unknown files, unless a flag of the command allows
// this. It also returns an error if the run would remove a runtime, tenant or queue that --remove does not list. An
// entry of --remove that removes nothing also causes an error, and so does a change of an immutable field.
func (f *generateFlags) checkRemovals(targets []target) error {
	var losses, removable, removed, kept []string
	for _, t := range targets {
		if err := t.plan.Check(); err != nil {
			return err
		}
		change := bundles.Change{
			Old: t.plan.Inventory(), New: bundles.Inventory(t.platform.Objects),
			Document: t.platform.Sections, Removed: f.remove,
		}
		allowed, err := change.Check()
		losses = append(losses, f.lossesOf(t, err)...)
		removable = append(removable, change.RemovedParts()...)
		kept = append(kept, t.platform.Sections...)
		for _, e := range change.New {
			kept = append(kept, e.Parts()...)
		}
		removed = append(removed, allowed...)
	}
	for _, component := range f.remove {
		if !slices.Contains(removed, component) {
			return removesNothing(component, kept, removable)
		}
	}
	if len(losses) > 0 {
		return &bundles.RemovalError{Problems: losses}
	}
	return nil
}

func (f *generateFlags) lossesOf(t target, err error) []string {
	var loss *bundles.RemovalError
	switch {
	case !errors.As(err, &loss):
		return nil
	case len(f.only) > 0:
		return []string{t.dir + ": with --only, the run would remove a runtime, a tenant or a queue from this folder, or change an immutable field: use a separate folder for --only"}
	}
	losses := slices.Clone(loss.Problems)
	for i := range losses {
		losses[i] = t.dir + ": " + losses[i]
	}
	return losses
}

func removesNothing(component string, kept, removable []string) error {
	if slices.Contains(kept, component) {
		return usageErrorf("--remove %s: the document still contains this entry: delete the entry from the document first", component)
	}
	if nearest := message.Nearest(component, removable); nearest != "" {
		return usageErrorf("--remove %s: removes nothing: did you mean %q?", component, nearest)
	}
	return usageErrorf("--remove %s: removes nothing: leave the flag out", component)
}

func (f *generateFlags) completeRemove(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
	var components []string
	for _, file := range append(f.manifests(), filepath.Join(f.output, bundles.ManifestName)) {
		for _, e := range bundles.ReadInventory(file) {
			components = append(components, e.Parts()...)
		}
	}
	slices.Sort(components)
	return slices.Compact(components), cobra.ShellCompDirectiveNoFileComp
}
