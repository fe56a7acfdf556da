package generator

import (
	"encoding/json"
	"errors"

	"k8s.io/apimachinery/pkg/runtime/schema"
	sigsjson "sigs.k8s.io/json"

	"github.com/trainyard/trainyard/generator/internal/upstream"
	"github.com/trainyard/trainyard/generator/problem"
)

// Rules for objects that somebody may have changed after they were generated.
var (
	knownFields = ruleOf("an object has no fields that its type has not")
	rightTypes  = ruleOf("fields have the type that upstream gives them")
)

// Strict holds an object, whoever wrote it, against the type that upstream gives its kind, as the verify stage
// does with ours. Fields that the type has not are apart: a newer version of it may have them. Of a kind that we
// do not emit it says nothing.
func Strict(fields map[string]any) (wrong, unknown problem.List) {
	apiVersion, _ := fields["apiVersion"].(string)
	kind, _ := fields["kind"].(string)
	value := upstream.New(schema.FromAPIVersionAndKind(apiVersion, kind))
	if value == nil {
		return nil, nil
	}
	text, err := json.Marshal(fields)
	if err != nil {
		return problem.List{{Rule: rightTypes, Message: err.Error()}}, nil
	}
	found, err := sigsjson.UnmarshalStrict(text, value)
	if err != nil {
		path, says := problem.OfJSON(err)
		return problem.List{{Rule: rightTypes, Path: path, Message: says}}, nil
	}
	for _, err := range found {
		var at sigsjson.FieldError
		if errors.As(err, &at) {
			unknown = append(unknown, problem.Problem{Rule: knownFields, Path: at.FieldPath(), Message: "unknown field: the type of " + kind + " has none of this name"})
		}
	}
	return nil, unknown
}
