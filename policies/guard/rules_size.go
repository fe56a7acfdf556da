package guard

import (
	"fmt"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"
)

// The maximum size of a TrainJob.
const (
	maxBytes  = 131072
	maxFields = 1000
)

// Size is the size of a part of a TrainJob.
type Size struct {
	Bytes  int // the number of bytes that the API server stores
	Fields int // the number of fields at all levels
}

// oversizedJob denies large TrainJobs. The API server stores the spec several times: in the TrainJob, the JobSet, the
// Jobs and the pods.
func oversizedJob(job Job, _ Parameters) field.ErrorList {
	if job.Size.Bytes <= maxBytes && job.Size.Fields <= maxFields {
		return nil
	}
	return newViolation(specPath, "want at most %d bytes and %d fields in the spec, labels, annotations and owners, got about %d bytes and %d fields: leave data out, and use a volume or the image",
		maxBytes, maxFields, job.Size.Bytes, job.Size.Fields)
}

// sizedParts returns the parts of a TrainJob that RuleOversizedJob counts.
func sizedParts(trainJob map[string]any) []any {
	metadata := value{content: trainJob}.get("metadata")
	parts := []any{value{content: trainJob}.get("spec").mappingEntries()}
	for _, name := range []string{"labels", "annotations", "ownerReferences"} {
		if part := metadata.get(name); part.isSet() {
			parts = append(parts, part.content)
		} else {
			parts = append(parts, []any{})
		}
	}
	return parts
}

// computeSize returns the size of decoded JSON as policies/admission/rule_oversized_job.cue counts it. In the text that
// the function "format" of CEL writes, mappings look like {"a":1, "b":2}, and lists look like [1, 2]. Source:
// github.com/google/cel-go, ext/formatting.go.
func computeSize(content any) Size {
	switch v := content.(type) {
	case map[string]any:
		size := Size{Bytes: len("{}") + separatorSize(len(v))}
		for key, below := range v {
			size = size.plus(quotedSize(key)).plus(Size{len(":"), 1}).plus(computeSize(below))
		}
		return size
	case []any:
		size := Size{Bytes: len("[]") + separatorSize(len(v))}
		for _, item := range v {
			size = size.plus(computeSize(item))
		}
		return size
	case string:
		return quotedSize(v)
	case nil:
		return Size{Bytes: len("null")}
	}
	return Size{Bytes: len(fmt.Sprint(content))}
}

// quotedSize returns the size of a quoted text. The API server stores each of the characters <, > and & as six bytes.
// The policy counts fields by quotes that a colon follows, so such quotes in a text count, too.
func quotedSize(text string) Size {
	quoted := strconv.Quote(text)
	escaped := strings.Count(text, "<") + strings.Count(text, ">") + strings.Count(text, "&")
	return Size{len(quoted) + escaped*(len(`\u003c`)-1), strings.Count(text, `":`)}
}

func (s Size) plus(other Size) Size { return Size{s.Bytes + other.Bytes, s.Fields + other.Fields} }

// separatorSize returns the number of bytes between n items.
func separatorSize(n int) int { return max(0, n-1) * len(", ") }
