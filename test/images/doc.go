// Package images makes container images for clusters without a registry, from programs of
// this repository, of Debian and of the Python Package Index: no container daemon is needed, and none of the
// images is ever pushed anywhere.
package images
