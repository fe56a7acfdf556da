package plan

import (
	"crypto/sha256"
	"encoding/base32"
	"fmt"
	"strings"
)

// Trainer creates a JobSet with the name of the TrainJob, and pods whose names add the role and two indices. A pod's
// host name has at most 63 characters, so a TrainJob's name has at most longestJob characters, a hyphen and hashLength
// characters.
const (
	longestJob = 35
	hashLength = 8
)

// lowerBase32 is base32 in characters that names of objects can contain.
var lowerBase32 = base32.NewEncoding("abcdefghijklmnopqrstuvwxyz234567").WithPadding(base32.NoPadding)

// hashedName returns the name of a run whose job's own name is not free. The salt tells apart names that collide.
func hashedName(job string, version Version, salt int) string {
	hash := sha256.Sum256(fmt.Appendf(nil, "%q %q %d %d", job, version.Spec, version.Generation, salt))
	short := strings.TrimRight(job[:min(len(job), longestJob)], "-.")
	return short + "-" + lowerBase32.EncodeToString(hash[:])[:hashLength]
}
