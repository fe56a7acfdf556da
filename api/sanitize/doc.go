// Package sanitize makes the output of other programs safe to show: it replaces secrets, and removes control sequences
// of terminals. All code that shows log lines, events or conditions uses this package.
package sanitize
