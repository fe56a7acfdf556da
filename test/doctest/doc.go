// Package doctest parses pages of the documentation and runs their steps.
//
// In a Markdown file, a fence marked "console" contains commands after "$ ", each followed by its output. If the fence
// shows no output after a command, the output is not checked. In the expected output of a command, the line "..."
// matches any number of lines. A make command is not run: the type Reader only checks that the make target exists. A
// fence with the mark "file=PATH", such as "yaml file=PATH", contains a file, which Reader creates. If the file
// already exists, its content must equal the content of the fence. A fence marked "shell" is a script that needs
// services, such as a Git server. This script runs only in tests that start these services. Other fences are not run.
package doctest
