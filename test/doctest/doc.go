// Package doctest parses pages of the documentation and runs their steps.
//
// In a Markdown file, a fence marked "console" contains commands after "$ ", each followed by its output. If the fence
// shows no output after a command, the output is not checked. In the expected output of a command, the line "..."
// matches any number of lines. A fence marked "cue file=PATH" or "yaml file=PATH" contains a file, which the reader
// creates. If a fence contains a file that already exists, the content of the existing file must equal the content of
// the fence. A fence marked "shell" is a script that needs services, such as a Git server. This script runs only in
// tests that start these services. Other fences are not run.
package doctest
