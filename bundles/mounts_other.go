//go:build !linux

package bundles

import "os"

// mountsIn cannot be told here.
func mountsIn(*os.Root) map[string]bool { return nil }
