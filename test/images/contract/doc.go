// Package contract tests examples/images/check-image.sh, which checks whether an image has what runtimes
// need. The tests run the script with this machine's programs, without root. test/images runs it in real
// images.
package contract
