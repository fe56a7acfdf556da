// Package ballast has the garbage collector wait until a run has made some garbage. It imports nothing, so that it
// is initialized before most others: memory that nobody had before need not be cleared.
package ballast

import "runtime"

// held counts as memory in use, so the next collection comes that much later. Nobody touches it, and so it takes
// addresses and no memory.
var held = make([]byte, 16<<20)

// Keep has the ballast stay until then.
func Keep() { runtime.KeepAlive(held) }
