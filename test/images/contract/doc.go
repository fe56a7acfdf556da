// Package contract tests examples/images/check-image.sh, which checks whether an image contains all programs that
// runtimes need. The tests run check-image.sh with programs of this machine instead of an image, so they need no
// root privileges. The tests in test/images run check-image.sh in real images.
package contract
