// Package sanitize makes the output of other programs safe to show: it replaces secrets, and removes control sequences
// of terminals. Package jobs uses package sanitize for logs, events and conditions of TrainJobs.
package sanitize
