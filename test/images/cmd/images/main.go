// Command images builds the container images of test clusters.
package main

import (
	"context"
	"fmt"
	"maps"
	"os"
	"os/signal"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/trainyard/trainyard/test/images"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	all := slices.Sorted(maps.Keys(images.All))
	slow := slices.Sorted(maps.Keys(images.Slow))
	cmd := &cobra.Command{
		Use:          "images DIR [NAME...]",
		Short:        "Build images as archives in a folder, unless they are up to date",
		Long:         "Without names, the command builds all images except the slow ones: " + strings.Join(slow, ", ") + ".",
		Example:      "  images .tools/images\n  images .tools/images openmpi",
		Args:         cobra.MinimumNArgs(1),
		ValidArgs:    slices.Concat(all, slow),
		SilenceUsage: true, SilenceErrors: true,
		RunE: func(cmd *cobra.Command, args []string) error {
			names := args[1:]
			if len(names) == 0 {
				names = all
			}
			for _, name := range names {
				_, _ = fmt.Fprintln(cmd.ErrOrStderr(), "image", name)
				if err := images.Build(cmd.Context(), args[0], name); err != nil {
					return err
				}
			}
			return nil
		},
	}
	if err := cmd.ExecuteContext(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "images:", err)
		stop()
		os.Exit(1)
	}
}
