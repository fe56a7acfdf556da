// Package contract tests examples/images/check-image.sh, which checks whether an image contains all programs that
// runtimes need. The tests need no root privileges, because they run check-image.sh with programs of this machine and
// without an image. The tests in test/images run check-image.sh in real images.
package contract
