// Package contract tests examples/images/check-image.sh, which tells whether an image holds
// what runtimes need, on this machine's own programs and without root. What it says of real
// images is tested beside them, in test/images.
package contract
