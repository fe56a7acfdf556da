// Package contract tests examples/images/check-image.sh, which checks whether an image contains all programs that
// runtimes need. The tests need no root, because they run the script with programs of this machine. Package
// test/images runs the script in real images.
package contract
