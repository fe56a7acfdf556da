// Command gitserver serves one Git repository over HTTP until it is stopped. The package test/gitops starts this
// command for a sandbox.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/trainyard/trainyard/test/gitserver"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := command().ExecuteContext(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "gitserver:", err)
		stop()
		os.Exit(1)
	}
}

func command() *cobra.Command {
	var address, passwordFile string
	cmd := &cobra.Command{
		Use:   "gitserver DIR NAME",
		Short: "Serve the repository NAME.git of a folder over HTTP, and create it if it does not exist",
		Long: `Serve the repository NAME.git of the folder DIR over HTTP, and create it if it does not exist.

The user ` + gitserver.User + ` may fetch and push with the password. Nobody else may.`,
		Args:          cobra.ExactArgs(2),
		SilenceUsage:  true,
		SilenceErrors: true,
		RunE: func(cmd *cobra.Command, args []string) error {
			return serve(cmd.Context(), args[0], args[1], address, passwordFile)
		},
	}
	cmd.Flags().StringVar(&address, "address", "127.0.0.1:0", "address on which to listen, as HOST:PORT")
	cmd.Flags().StringVar(&passwordFile, "password-file", "", "file with the password")
	_ = cmd.MarkFlagRequired("password-file") // no error is possible, because the flag exists
	return cmd
}

// serve serves a repository until the context ends.
func serve(ctx context.Context, dir, name, address, passwordFile string) (err error) {
	password, err := os.ReadFile(passwordFile)
	if err != nil {
		return fmt.Errorf("reading the password: %w", err)
	}
	o := gitserver.Options{Address: address, Password: strings.TrimSpace(string(password))}
	if o.Password == "" {
		return fmt.Errorf("%s contains no password", passwordFile)
	}
	if dir, err = filepath.Abs(dir); err != nil {
		return err
	}
	server, err := gitserver.StartWith(dir, o)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, server.Close()) }()
	repository, err := server.NewRepository(name)
	if err != nil {
		return err
	}
	// If http.receivepack were not set to true, git-http-backend would refuse all pushes. Pushes are safe, because the
	// server refuses HTTP requests without the password.
	if err := repository.Configure("http.receivepack", "true"); err != nil {
		return err
	}
	<-ctx.Done()
	return nil
}
