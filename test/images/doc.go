// Package images builds container images for clusters without a registry, from programs of this repository,
// of Debian and of the Python Package Index. It needs no container daemon, and pushes no image.
package images
