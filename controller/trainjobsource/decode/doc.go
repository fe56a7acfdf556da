// Package decode reads TrainJobs from the files of a commit.
//
// The files come from a repository that a tenant controls, so the package limits their size and number, and never
// follows links. A file or an object with a problem does not affect the other files and objects.
package decode
