package main

import (
	"context"
	"os"
	"strconv"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/trainyard/trainyard/policies/offline"
)

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){
		"trainyard": main,
		"trainyard-policy": func() {
			if err := offline.Serve(context.Background(), os.Stdin, os.Stdout); err != nil {
				os.Exit(1)
			}
		},
	})
}

// TestScript runs the scripts in testdata/script. If the environment sets TRAINYARD_UPDATE, TestScript rewrites the
// expected output in the scripts.
func TestScript(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir:                 "testdata/script",
		UpdateScripts:       os.Getenv("TRAINYARD_UPDATE") != "",
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"exits": checkExit,
		},
	})
}

func checkExit(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: exits CODE COMMAND ARG...")
	}
	err := ts.Exec(args[1], args[2:]...)
	code := 0
	if exit, ok := err.(interface{ ExitCode() int }); ok {
		code = exit.ExitCode()
	} else if err != nil {
		ts.Fatalf("running %s: %v", args[1], err)
	}
	if got := strconv.Itoa(code); got != args[0] {
		ts.Fatalf("%s exit code %s, want %s", args[1], got, args[0])
	}
}
