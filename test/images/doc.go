// Package images builds container images for clusters without a registry. The images contain programs of this
// repository, of Debian and of the Python Package Index. The package needs no container daemon, and pushes no image.
package images
