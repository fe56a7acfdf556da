// Package doctest parses pages of the documentation and runs their steps.
//
// In a Markdown file, a fence marked "console" has commands after "$ ", each followed by its output.
// Without output lines, the output is not checked; "..." matches any number of lines. A fence marked "cue
// file=PATH" or "yaml file=PATH" is a file that the reader creates, or an unchanged file of the repository.
// A fence marked "shell" is a script that runs where its services are available. Other fences are not run.
package doctest
