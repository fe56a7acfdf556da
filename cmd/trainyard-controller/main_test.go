package main

import (
	"bytes"
	"context"
	"strings"
	"testing"
)

func TestCommandLine(t *testing.T) {
	for name, tc := range map[string]struct {
		args []string
		code int
		want string // a part of the output or of the messages
	}{
		"help":               {[]string{"--help"}, exitOK, "trainyard-controller --shard a"},
		"version":            {[]string{"--version"}, exitOK, "trainyard-controller version"},
		"an argument":        {[]string{"x"}, exitUsage, `unexpected argument "x"`},
		"an unknown flag":    {[]string{"--shards", "a"}, exitUsage, "unknown flag: --shards"},
		"no kubeconfig":      {[]string{"--kubeconfig", "missing"}, exitUsage, "reading the kubeconfig"},
		"no settings file":   {[]string{"--config", "missing.yaml"}, exitUsage, "--config: open missing.yaml"},
		"no worker":          {[]string{"--workers", "0"}, exitUsage, `--workers "0": want a number greater than 0`},
		"an invalid network": {[]string{"--allow-address", "10.0.0.0"}, exitUsage, `--allow-address "10.0.0.0": want a network`},
		"an invalid format":  {[]string{"--log-format", "xml"}, exitUsage, `--log-format "xml": want text or json`},
	} {
		t.Run(name, func(t *testing.T) {
			var out, messages bytes.Buffer
			code := run(context.Background(), tc.args, &out, &messages)
			if text := out.String() + messages.String(); code != tc.code || !strings.Contains(text, tc.want) {
				t.Errorf("exit code %d, want %d; output, want %q:\n%s", code, tc.code, tc.want, text)
			}
		})
	}
}
