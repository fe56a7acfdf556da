// Package fetch reads one commit of a Git repository from a server.
//
// Neither the server nor the author of the commit is trusted. The package speaks Git's protocol itself, with go-git's
// encoders and decoders, and never runs the git program. Package fetch writes no file of the commit to a disk. Links
// and unusual file names in the commit therefore cannot lead to files outside the commit.
//
// The objects of the commit stay in memory, so their size must be limited. A compressed object of a few megabytes can
// inflate to a thousand times its size. A delta describes an object by its differences from a base object. Even a short
// delta can describe a very large object, because the described object can contain many copies of the base object. The
// usual pack readers of go-git trust the sizes that a pack declares. The function readPack uses the Scanner of go-git
// instead, which reads one object at a time. readPack checks each declared size before it inflates or copies an object.
// All objects of a pack together therefore contain at most Limits.Inflated bytes, and fit into memory.
//
// The package does not use go-git's clients for HTTP and SSH. These clients open network connections themselves, so
// package fetch could not check the addresses of the servers. The HTTP client of go-git also offers no way to limit
// a request.
package fetch
