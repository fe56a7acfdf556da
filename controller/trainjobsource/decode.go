package trainjobsource

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"slices"

	"github.com/trainyard/trainyard/api/v1alpha1"
	"github.com/trainyard/trainyard/controller/trainjobsource/decode"
)

// decode reports the mistakes in the commit. A mistake concerns only its own file or object, so the round goes on with
// all other TrainJobs. The round ends if the folder could not be read.
func (r *round) decode(context.Context) bool {
	if r.commit.failure != nil {
		return r.fail(*r.commit.failure)
	}
	for _, p := range r.commit.tree.Problems {
		r.problems = append(r.problems, newProblem(p.File, p.Line, p.Message))
	}
	return true
}

// maxFolderError is the maximum length of an error about a folder, in bytes of JSON. Without a limit, these errors could
// fill the log: an error can quote files that a tenant wrote, and the controller logs the error in each round.
const maxFolderError = 2000

// readCommit reads the files of a new commit.
func (r *round) readCommit(files fs.FS) {
	tree, err := decode.Read(files, path.Clean(r.source.Spec.Path), r.source.Namespace, r.Limits)
	if err != nil {
		r.commit.failure = &failure{
			reason: v1alpha1.ReasonJobsInvalid, stalled: true,
			message: fmt.Sprintf("reading folder %s of commit %s: %v", r.source.Spec.Path, short(r.commit.hash), shorten(err.Error(), maxFolderError)),
		}
	}
	r.commit.tree = tree
}

// digestOf returns the SHA-256 hash of the data of a Secret, in hexadecimal digits.
func digestOf(data map[string][]byte) string {
	hash := sha256.New()
	for _, key := range slices.Sorted(maps.Keys(data)) {
		fmt.Fprintf(hash, "%q %q\n", key, data[key])
	}
	return hex.EncodeToString(hash.Sum(nil))
}
