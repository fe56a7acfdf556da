// Package pages reads pages of the documentation, and does what they tell a reader to do.
//
// In a Markdown file, a fence marked "console" holds commands after "$ " and, on
// the lines below each, what it prints: nothing if the output is of no interest,
// and "..." for any number of lines. A fence marked "cue file=PATH" or "yaml
// file=PATH" is a file that the reader creates, or one of ours, shown as it is. A fence
// marked "shell" is typed as it is, where there is what it needs. Other fences show something.
package pages
