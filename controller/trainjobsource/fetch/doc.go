// Package fetch reads one commit of a Git repository from a server.
//
// Neither the server nor the author of the commit is trusted. The package speaks Git's protocol itself, with go-git's
// encoders and decoders, and never runs the git program. Package fetch writes no file of the commit to a disk. Links
// and strange file names in the commit therefore cannot reach other files.
//
// The objects of the commit stay in memory. The normal pack readers of go-git trust the sizes that a pack declares. An
// object of a few megabytes can inflate to a thousand times its size, and a short delta can copy its base many times. The
// Scanner of go-git, however, reads a pack one object at a time. The function readPack can therefore check each declared
// size before it inflates or copies an object. A fetch therefore needs at most Limits.Inflated bytes for its objects, and
// no disk.
//
// The package does not use go-git's clients for HTTP and SSH. The HTTP and SSH clients of go-git open network
// connections themselves, so package fetch could not check the addresses. The HTTP client of go-git also has no hook
// with which package fetch could limit a request.
package fetch
