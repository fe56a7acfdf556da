package plan

import (
	"crypto/sha256"
	"encoding/base32"
	"fmt"
	"strings"
)

// The following constants limit the lengths of the two parts of a hashed name, in characters. A hashed name must be
// short: the host name of each pod consists of the TrainJob's name, the role and two indices, and can have at most 63
// characters.
const (
	longestJob = 35 // of the job's name; the rest is cut off
	hashLength = 8
)

// lowerBase32 is base32 with lower-case letters, because names of Kubernetes objects cannot contain capital letters.
var lowerBase32 = base32.NewEncoding("abcdefghijklmnopqrstuvwxyz234567").WithPadding(base32.NoPadding)

// hashedName returns a name for a run. A run normally has the name of its job. If this name is already in use, the run
// gets a hashed name instead. A name is in use if a TrainJob has this name, or if the name is reserved for another run.
// The hashed name consists of the beginning of the job's name and a hash of the version. If the hashed name is also in
// use, the caller tries again with another salt.
func hashedName(job string, version Version, salt int) string {
	hash := sha256.Sum256(fmt.Appendf(nil, "%q %q %d %d", job, version.Spec, version.Generation, salt))
	short := strings.TrimRight(job[:min(len(job), longestJob)], "-.")
	return short + "-" + lowerBase32.EncodeToString(hash[:])[:hashLength]
}
