// Package fetch reads one commit of a Git repository from a server.
//
// Neither the server nor the author of the commit is trusted. The package speaks Git's protocol itself, with go-git's
// encoders and decoders, and never runs the git program. It writes no file of the commit to a disk, so links in the
// commit and strange file names cannot reach other files.
//
// The objects of the commit stay in memory. go-git's own readers of packs trust the sizes that a pack declares: an object
// of a few megabytes can inflate to a thousand times its size, and a short delta can copy its base many times. go-git's
// Scanner, however, reads a pack one object at a time, so readPack can check each declared size before it inflates or
// copies anything. A fetch therefore needs at most Limits.Inflated bytes for its objects, and no disk.
//
// The package does not use go-git's clients for HTTP and SSH. These clients open network connections themselves, so this
// package could not check the addresses. The HTTP client also has no hook with which this package could limit a request.
package fetch
