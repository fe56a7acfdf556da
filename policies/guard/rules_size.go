package guard

import (
	"fmt"
	"strconv"

	"k8s.io/apimachinery/pkg/util/validation/field"
)

// maxJob is the maximum size of a TrainJob, in bytes as returned by sizeOf.
const maxJob = 131072

// oversizedJob denies large TrainJobs. The API server stores the spec several times: in the TrainJob, the JobSet, the
// Jobs and the pods.
func oversizedJob(job Job, _ Parameters) field.ErrorList {
	if job.Size <= maxJob {
		return nil
	}
	return forbid(specPath, "want at most %d bytes in the spec, labels and annotations, got %d: leave data out, and use a volume or the image", maxJob, job.Size)
}

// sizeOf returns the number of bytes that the function format of CEL writes for decoded JSON. Mappings look like
// {"a":1, "b":2}, and lists look like [1, 2]. Source: github.com/google/cel-go, ext/formatting.go.
func sizeOf(content any) int {
	switch v := content.(type) {
	case map[string]any:
		n := len("{}") + separators(len(v))
		for key, below := range v {
			n += len(strconv.Quote(key)) + len(":") + sizeOf(below)
		}
		return n
	case []any:
		n := len("[]") + separators(len(v))
		for _, item := range v {
			n += sizeOf(item)
		}
		return n
	case string:
		return len(strconv.Quote(v))
	case nil:
		return len("null")
	}
	return len(fmt.Sprint(content))
}

// separators returns the number of bytes between n items.
func separators(n int) int { return max(0, n-1) * len(", ") }
