// Package doctest parses pages of the documentation and runs their steps.
//
// In a Markdown file, a fence marked "console" contains commands after "$ ", each followed by its output. The output
// of a command without output lines is not checked. The line "..." matches any number of lines. A fence marked "cue
// file=PATH" or "yaml file=PATH" is a file that the reader creates, or an unchanged file of the repository. A fence
// marked "shell" is a script that needs services. Only tests that have these services run the script. Other fences
// are not run.
package doctest
