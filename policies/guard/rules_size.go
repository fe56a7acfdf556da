package guard

import (
	"fmt"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"
)

// The maximum size of a TrainJob.
const (
	maxBytes   = 131072
	maxFields  = 1000
	maxPatches = 16
)

// Size is the size of a part of a TrainJob.
type Size struct {
	Bytes  int // an estimate of the number of bytes that the API server stores; usually a little too high
	Fields int // the number of fields at all levels, plus the number of empty mappings
}

// oversizedJob denies large TrainJobs, because a few large TrainJobs could fill etcd. The API server stores the spec
// several times: in the TrainJob, the JobSet, the Jobs and the pods. Only the policy in the cluster limits the size of
// managedFields, because the package "guard" does not know the managedFields of a TrainJob.
func oversizedJob(job Job, _ Parameters) field.ErrorList {
	if job.Size.Bytes <= maxBytes && job.Size.Fields <= maxFields && job.Overrides <= maxPatches {
		return nil
	}
	return newViolation(specPath, "want at most %d bytes, %d fields and %d patches (the spec, labels, annotations and owners together), got about %d bytes, %d fields and %d patches: move data from the TrainJob to a volume or to the image",
		maxBytes, maxFields, maxPatches, job.Size.Bytes, job.Size.Fields, job.Overrides)
}

// sizedParts returns four parts of a TrainJob, in this order: the spec, the labels, the annotations and the owners. The
// rule RuleOversizedJob limits the total size of these four parts.
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

// computeSize returns the size of decoded JSON. The result equals the size that policies/admission/rule_oversized_job.cue
// computes in CEL. The CEL expression first converts the JSON to text with CEL's function "format". In this text,
// mappings look like {"a":1, "b":2}, and lists look like [1, 2]. Source: github.com/google/cel-go, ext/formatting.go.
func computeSize(content any) Size {
	switch v := content.(type) {
	case map[string]any:
		if len(v) == 0 {
			return textSize("{}")
		}
		size := Size{Bytes: len("{}") + separatorSize(len(v))}
		for key, below := range v {
			size = size.plus(textSize(strconv.Quote(key) + ":")).plus(computeSize(below))
		}
		return size
	case []any:
		size := Size{Bytes: len("[]") + separatorSize(len(v))}
		for _, item := range v {
			size = size.plus(computeSize(item))
		}
		return size
	case string:
		return textSize(strconv.Quote(v))
	case nil:
		return Size{Bytes: len("null")}
	}
	return Size{Bytes: len(fmt.Sprint(content))}
}

// textSize returns the size of a text. The text is what CEL's function "format" would write for a string, for an empty
// mapping, or for a key with its colon. The API server stores each of the characters <, > and & in six bytes, such as
// \u003c for <. The API server also stores most control characters in six bytes. In the argument "text", each control
// character is an escape sequence that begins with a backslash. This escape sequence can be shorter than six bytes, as
// in \n. Therefore, textSize counts six bytes for each backslash, and for each of the characters <, > and &. In the
// returned Size, the value of Fields is the sum of two counts. The first count says how often a colon follows a
// quotation mark in the text. The second count is the number of empty mappings in the text. The admission policy also
// uses the sum of these two counts as the number of fields.
func textSize(text string) Size {
	escaped := 0
	for _, char := range []string{"<", ">", "&", `\`} {
		escaped += strings.Count(text, char)
	}
	return Size{len(text) + escaped*(len(`\u003c`)-1), strings.Count(text, `":`) + strings.Count(text, "{}")}
}

func (s Size) plus(other Size) Size { return Size{s.Bytes + other.Bytes, s.Fields + other.Fields} }

// separatorSize returns the total size of the separators between n items, in bytes.
func separatorSize(n int) int { return max(0, n-1) * len(", ") }
