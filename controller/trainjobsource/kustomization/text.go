package kustomization

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"

	"github.com/trainyard/trainyard/api/v1alpha1"
	"github.com/trainyard/trainyard/controller/trainjobsource/safeyaml"
)

// maxObjectValues is the maximum number of values of an object or a patch. The time that kustomize needs to merge a patch
// into an object grows with the square of the number of values.
const maxObjectValues = 2000

// These constants limit one file, or one patch in a kustomization.
const (
	maxDocuments  = 1000   // objects or patches
	maxFileValues = 60_000 // mappings, lists, keys and scalars
)

// content is the checked text of a file or a patch.
type content struct {
	objects, values int64            // the number of objects or patches, and of the values in them
	named           map[string]int64 // the number of values by the metadata.name of the object or patch
	text            []byte
}

// checkText checks the YAML of a file or a patch, and converts it to JSON for kustomize. The conversion drops comments,
// so that comments cannot give instructions to kustomize. checkText calls the function "check" for each object or patch.
// If the function "mark" is not nil, it changes each object or patch before the conversion.
func checkText(file string, text []byte, check checkFunc, mark markFunc) (found content, err error) {
	reader := safeyaml.NewReader(text)
	found.named = map[string]int64{}
	found.text = []byte("# kustomize accepts no empty file\n")
	for {
		node, err := reader.Next()
		if errors.Is(err, io.EOF) {
			return found, nil
		}
		if err != nil {
			return content{}, locate(file, 1, err)
		}
		values, err := checkDocument(file, node, check)
		if err != nil {
			return content{}, err
		}
		if found.values += values; found.values > maxFileValues {
			return content{}, fmt.Errorf("%s: more than %d values in one file", file, maxFileValues)
		}
		if isEmpty(node) {
			continue
		}
		encoded, err := encode(file, node, mark)
		if err != nil {
			return content{}, err
		}
		found.objects++
		found.named[textOf(valueOf(node.Content[0], "metadata"), "name")] += values
		if found.objects == 1 {
			found.text = encoded
		} else {
			found.text = append(append(found.text, "\n---\n"...), encoded...)
		}
		if found.objects > maxDocuments {
			return content{}, fmt.Errorf("%s: more than %d objects or patches in one file", file, maxDocuments)
		}
	}
}

// markFunc changes an object before its conversion to JSON for kustomize. The argument "line" is the number of the line
// at which the object begins in its file.
type markFunc func(object map[string]any, line int)

// encode returns a YAML document as JSON.
func encode(file string, document *yaml.Node, mark markFunc) ([]byte, error) {
	value, err := safeyaml.Decode(document)
	if err != nil {
		return nil, locate(file, 1, err)
	}
	if object, isMapping := value.(map[string]any); isMapping && mark != nil {
		mark(object, max(document.Content[0].Line, 1))
	}
	var text bytes.Buffer
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false)
	err = encoder.Encode(value)
	return escaped.ReplaceAllFunc(bytes.TrimSpace(text.Bytes()), func(character []byte) []byte {
		r, _ := utf8.DecodeRune(character)
		return fmt.Appendf(nil, "\\u%04x", r)
	}), err
}

// The regular expression "escaped" matches the characters that the function "encode" must escape. JSON can contain
// these characters, but the YAML library of kustomize refuses or changes them.
var escaped = regexp.MustCompile("[\u007f-\u009f\ufffe\uffff]")

// locate adds the file and a line number to the text of an error. If the error is a *safeyaml.MistakeError, the error
// itself contains the line number. For any other error, the function uses the argument "line".
func locate(file string, line int, err error) error {
	if mistake := (*safeyaml.MistakeError)(nil); errors.As(err, &mistake) {
		return fmt.Errorf("%s:%d: %s", file, mistake.Line, mistake.Message)
	}
	return fmt.Errorf("%s:%d: %w", file, line, err)
}

// checkNode returns an error for YAML that programs may read in different ways (see package safeyaml), and for forbidden
// content (see findForbidden). If there is no error, checkNode returns the number of values in the YAML.
func checkNode(file string, node *yaml.Node) (values int64, err error) {
	count, err := safeyaml.Check(node)
	if err != nil {
		return 0, locate(file, 1, err)
	}
	if found := findForbidden(node); found != nil {
		return 0, locate(file, 1, found)
	}
	return int64(count), nil
}

// checkFunc checks an object or a patch.
type checkFunc func(node *yaml.Node) error

// checkDocument checks a YAML document, and returns the number of its values. checkDocument calls the function "check"
// unless the document is empty.
func checkDocument(file string, document *yaml.Node, check checkFunc) (values int64, err error) {
	if values, err = checkNode(file, document); err != nil {
		return 0, err
	}
	if isEmpty(document) {
		return 0, nil
	}
	node := document.Content[0]
	if values > maxObjectValues {
		return 0, fmt.Errorf("%s:%d: the object or patch has more than %d values", file, max(node.Line, 1), maxObjectValues)
	}
	if err := check(node); err != nil {
		return 0, locate(file, max(node.Line, 1), err)
	}
	return values, nil
}

// isEmpty reports whether a YAML document contains nothing, or only comments.
func isEmpty(document *yaml.Node) bool {
	return len(document.Content) == 0 || isNull(document.Content[0])
}

// isNull reports whether a value is null or missing.
func isNull(node *yaml.Node) bool { return node == nil || node.ShortTag() == "!!null" }

// checkResource returns an error for an object that is not a TrainJob, or that has forbidden fields. Other kinds are
// not allowed, because kustomize has special code for them that can be slow. For example, kustomize merges the
// containers of a Deployment, and needs minutes if the Deployment has many containers.
func checkResource(object *yaml.Node) error {
	if err := CheckKind(textOf(object, "apiVersion"), textOf(object, "kind")); err != nil {
		return err
	}
	if err := checkMetadata(object); err != nil {
		return err
	}
	return checkFields(object)
}

// objectFields lists the allowed fields of a TrainJob, and metadataFields lists the allowed fields of its metadata.
// Both lists contain $patch, because a patch can contain directives for kustomize in this field.
var (
	objectFields   = []string{"apiVersion", "kind", "metadata", "spec", "status", "$patch"}
	metadataFields = []string{"name", "namespace", "labels", "annotations", "$patch"}
)

// checkFields checks that an object or a patch has only the fields in objectFields, and that its metadata has only the
// fields in metadataFields. Any other field is allowed only if its value is null, as in "creationTimestamp: null" (see
// checkFieldNames). kustomize searches all fields very often, so it would be slow for objects with many fields.
// checkFields also limits the number of fields, and the lengths of the name and the namespace. It refuses a spec that
// is not a mapping.
func checkFields(object *yaml.Node) error {
	if err := checkFieldNames("", object, objectFields); err != nil {
		return err
	}
	if err := checkFieldNames("metadata.", valueOf(object, "metadata"), metadataFields); err != nil {
		return err
	}
	if spec := valueOf(object, "spec"); !isNull(spec) && spec.Kind != yaml.MappingNode {
		return errors.New("spec: want a mapping")
	}
	return checkLengths(object)
}

// checkFieldNames returns an error if a mapping has a field that is not allowed, or too many fields. A field without a
// value is always allowed, because kubectl writes "creationTimestamp: null".
func checkFieldNames(where string, mapping *yaml.Node, allowed []string) error {
	if mapping == nil || mapping.Kind != yaml.MappingNode {
		return nil
	}
	for i := 0; i+1 < len(mapping.Content); i += 2 {
		if key := mapping.Content[i].Value; !slices.Contains(allowed, key) && !isNull(mapping.Content[i+1]) {
			return fmt.Errorf("the field %s%s is not allowed", where, key)
		}
	}
	if len(mapping.Content) > 2*maxFields {
		return fmt.Errorf("more than %d fields", maxFields)
	}
	return nil
}

// maxFields is the maximum number of fields in one mapping. Fields without a value count as well. checkFields applies
// this limit to the top level of an object or patch, and separately to the mapping in the field metadata.
const maxFields = 12

// checkMetadata checks that labels and annotations are mappings of strings. kustomize changes or drops other values.
func checkMetadata(object *yaml.Node) error {
	for _, field := range []string{"labels", "annotations"} {
		value := valueOf(valueOf(object, "metadata"), field)
		if isNull(value) {
			continue
		}
		if value.Kind != yaml.MappingNode {
			return fmt.Errorf("metadata.%s: want a mapping", field)
		}
		for i := 0; i+1 < len(value.Content); i += 2 {
			if item := value.Content[i+1]; item.Kind != yaml.ScalarNode || !safeyaml.IsString(item) {
				return fmt.Errorf("metadata.%s: the value of %q is not a string: put it in quotes", field, value.Content[i].Value)
			}
		}
	}
	return nil
}

// CheckKind returns an error for an object that is not a TrainJob.
func CheckKind(version, kind string) error {
	switch {
	case version == "":
		return errors.New("the field apiVersion is missing: a TrainJob has the apiVersion " + v1alpha1.TrainerAPIVersion)
	case kind == "":
		return errors.New("the field kind is missing: want TrainJob")
	case version != v1alpha1.TrainerAPIVersion || kind != "TrainJob":
		return fmt.Errorf("an object with apiVersion %s and kind %s is not allowed: a TrainJobSource applies only TrainJobs of apiVersion %s", version, kind, v1alpha1.TrainerAPIVersion)
	}
	return nil
}

// checkPatch checks the operations of a JSON patch, or the apiVersion, kind, name and fields of a merge patch. A merge
// patch must be for a TrainJob.
func checkPatch(patch *yaml.Node) error {
	if patch.Kind == yaml.SequenceNode {
		return checkOperations(patch)
	}
	version, kind := textOf(patch, "apiVersion"), textOf(patch, "kind")
	switch {
	case version == "" || kind == "" || textOf(valueOf(patch, "metadata"), "name") == "":
		return errors.New("a patch needs apiVersion, kind and metadata.name; if the patch has a target, metadata.name can have any value")
	case version != v1alpha1.TrainerAPIVersion || kind != "TrainJob":
		return fmt.Errorf("a patch with apiVersion %q and kind %q is not allowed: a TrainJobSource applies only TrainJobs of apiVersion %s", version, kind, v1alpha1.TrainerAPIVersion)
	}
	return checkFields(patch)
}

// checkSinglePatch checks a patch without a target. Such a patch must contain the name of the
// object that it changes. A JSON patch contains no name, so checkSinglePatch refuses JSON patches.
func checkSinglePatch(patch *yaml.Node) error {
	if patch.Kind == yaml.SequenceNode {
		return errors.New("a JSON patch needs a target")
	}
	return checkPatch(patch)
}

// checkFor returns checkSinglePatch for a patch without a target, and checkPatch for a patch with a
// target. The argument "single" is true if the patch has no target.
func checkFor(single bool) checkFunc {
	if single {
		return checkSinglePatch
	}
	return checkPatch
}

// checkLengths limits the lengths of the name and the namespace in an object or a patch.
func checkLengths(object *yaml.Node) error {
	for _, field := range []string{"name", "namespace"} {
		if len(textOf(valueOf(object, "metadata"), field)) > maxName {
			return fmt.Errorf("metadata.%s: want at most %d characters", field, maxName)
		}
	}
	return nil
}

// operations contains the allowed operations of JSON patches (RFC 6902).
var operations = []string{"add", "remove", "replace", "move", "test"}

// checkOperations checks the operations of a JSON patch and their pointers. The pointers of the operation "test" are not
// checked, because this operation changes nothing.
func checkOperations(patch *yaml.Node) error {
	for _, operation := range patch.Content {
		if err := checkOperation(operation); err != nil {
			return &safeyaml.MistakeError{Line: max(operation.Line, 1), Message: err.Error()}
		}
	}
	return nil
}

func checkOperation(operation *yaml.Node) error {
	name := textOf(operation, "op")
	switch {
	case !slices.Contains(operations, name):
		return fmt.Errorf("the field op of a JSON patch: want one of %s, got %q", strings.Join(operations, ", "), name)
	case isNull(valueOf(operation, "path")):
		return errors.New("an operation needs a path")
	case name == "move" && isNull(valueOf(operation, "from")):
		return errors.New("the operation move of a JSON patch needs the field \"from\"")
	}
	for _, field := range []string{"path", "from"} {
		value := valueOf(operation, field)
		if isNull(value) || name == "test" {
			continue
		}
		if err := checkPointer(field, value); err != nil {
			return err
		}
	}
	return nil
}

// checkPointer checks the field "path" or "from" of an operation. A patch may change only the spec, the status, labels
// and annotations. The kind, the name and the namespace of an object therefore stay the same. A patch must not move
// annotations, because Build reads the origin of the object from one of the annotations.
func checkPointer(field string, value *yaml.Node) error {
	pointer := value.Value
	switch part := parts(pointer); {
	case value.Kind != yaml.ScalarNode:
		return fmt.Errorf("the %s of a JSON patch must be a string", field)
	case !strings.HasPrefix(pointer, "/"):
		return fmt.Errorf("the %s %q of a JSON patch must begin with /", field, pointer)
	case !canChange(part):
		return fmt.Errorf("a JSON patch may change only spec, status, metadata.labels and metadata.annotations, not %q", pointer)
	case field == "from" && part[0] == "metadata" && part[1] == "annotations":
		return fmt.Errorf("a JSON patch must not move %q", pointer)
	}
	return nil
}

// canChange reports whether a JSON patch may change a field. The argument "part" contains the parts of the JSON pointer to
// the field.
func canChange(part []string) bool {
	if part[0] == "metadata" {
		return len(part) > 1 && (part[1] == "labels" || part[1] == "annotations")
	}
	return part[0] == "spec" || part[0] == "status"
}
