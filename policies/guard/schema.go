package guard

import (
	"fmt"
	"maps"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/trainyard/trainyard/api/message"
)

// fieldSchema describes the values that a field of a TrainJob can have.
type fieldSchema interface {
	// check adds each problem of the value v to the findings.
	check(v value, f *findings)
}

// fields holds the schemas of an object's fields, by name.
type fields map[string]fieldSchema

// findings holds the problems of a TrainJob's fields.
type findings struct {
	limitsItems bool              // whether the version of Trainer limits the number of items in lists
	typeErrors  field.ErrorList   // problems that the API server reports before it evaluates any rule
	disallowed  []DisallowedField // fields that violate a rule
}

// object is the schema of a mapping with a fixed set of fields. A TrainJob with any other field in the mapping violates
// the rule in object.rule.
type object struct {
	rule     Rule
	fields   fields
	required []string // the fields without which the API server refuses the object
}

// withRequired returns a copy of the schema in which the given fields are required.
func (o object) withRequired(fields ...string) object {
	o.required = fields
	return o
}

func (o object) check(v value, f *findings) {
	if !is[map[string]any](v.content) {
		f.typeError(v, "a mapping")
		return
	}
	for _, key := range o.required {
		if below := v.get(key); !below.isSet() {
			f.typeErrors = append(f.typeErrors, field.Required(below.path, "Kubernetes requires this field: add it"))
		}
	}
	for _, key := range v.sortedKeys() {
		below := v.get(key)
		if !below.isSet() {
			continue
		}
		switch schema := o.fields[key].(type) {
		case nil:
			f.disallow(below, o.rule, "a field that TrainJobs may not set here: "+o.adviseUnknown(key))
		case forbiddenField:
			f.disallow(below, o.rule, string(schema))
		default:
			schema.check(below, f)
		}
	}
}

// adviseUnknown returns text that tells the user what to write instead of an unknown field.
func (o object) adviseUnknown(key string) string {
	if meant := message.Nearest(key, o.allowedNames()); meant != "" {
		return fmt.Sprintf("did you mean %q? Otherwise leave the field out", meant)
	}
	return "leave it out"
}

// allowedNames returns the names of the fields that can be set.
func (o object) allowedNames() []string {
	return slices.DeleteFunc(slices.Sorted(maps.Keys(o.fields)), func(key string) bool { return is[forbiddenField](o.fields[key]) })
}

// forbiddenField describes a field of Trainer that must not be set. The text of a forbiddenField states why the
// field is forbidden, and what the user can do instead.
type forbiddenField string

func (forbiddenField) check(value, *findings) {}

// list is the schema of a list in which all items have the same schema.
type list struct {
	of  fieldSchema
	key string // the field that must differ between items, or empty if items may be equal
	max int    // the maximum number of items in Trainer 2.2 and later; 0 means no maximum
}

func (l list) check(v value, f *findings) {
	if !is[[]any](v.content) {
		f.typeError(v, "a list")
	}
	if n := len(v.listItems()); f.limitsItems && l.max > 0 && n > l.max {
		f.typeErrors = append(f.typeErrors, field.TooMany(v.path, n, l.max))
	}
	seen := map[string]bool{}
	for _, item := range v.listItems() {
		if !item.isSet() {
			f.typeError(item, "a value in each item")
			continue
		}
		l.of.check(item, f)
		if name := item.get(l.key); l.key != "" && is[string](name.content) {
			if seen[name.stringValue()] {
				f.typeErrors = append(f.typeErrors, &field.Error{
					Type: field.ErrorTypeDuplicate, Field: name.path.String(), BadValue: name.stringValue(),
					Detail: fmt.Sprintf("the API server refuses a second item with the %s %s: rename or remove it", l.key, printableName(name.stringValue())),
				})
			}
			seen[name.stringValue()] = true
		}
	}
}

// mapping is the schema of a field such as "labels", which contains keys that the user chooses. The values of all these
// keys have the same schema.
type mapping struct{ of fieldSchema }

func (m mapping) check(v value, f *findings) {
	if !is[map[string]any](v.content) {
		f.typeError(v, "a mapping")
	}
	for _, key := range v.sortedKeys() {
		if below := (value{v.get(key).content, v.path.Key(printableName(key))}); below.isSet() {
			m.of.check(below, f)
		}
	}
}

// scalar is the schema of a value without fields or items.
type scalar struct {
	valid  func(any) bool
	wanted string // the rest of the message "want …", such as "a name"
}

func (s scalar) check(v value, f *findings) {
	if !s.valid(v.content) {
		f.typeError(v, s.wanted)
	}
}

func (f *findings) typeError(v value, wanted string) {
	f.typeErrors = append(f.typeErrors, field.TypeInvalid(v.path, v.content, "want "+wanted))
}

func (f *findings) disallow(v value, rule Rule, reason string) {
	f.disallowed = append(f.disallowed, DisallowedField{v.path, rule, reason})
}

// Schemas of scalars.
var (
	anything    = scalar{func(any) bool { return true }, ""}
	text        = scalar{is[string], "text, in quotes if it looks like another type"}
	name        = scalar{func(v any) bool { return is[string](v) && v != "" }, "a name"}
	boolean     = scalar{is[bool], "true or false, without quotes"}
	integer32   = scalar{isInt32, "a whole number, without quotes and up to 2147483647"}
	positive    = scalar{func(v any) bool { n, ok := wholeNumber(v); return ok && n > 0 }, "a whole number from 1, without quotes"}
	intOrString = scalar{func(v any) bool { return is[string](v) || isInt32(v) }, "a whole number, or a word"}
	quantity    = amount{}
	manager     = scalar{isManager, "a name with a domain, such as acme.example/launcher"}
	jobName     = scalar{func(v any) bool { name, ok := v.(string); return ok && len(validation.IsDNS1035Label(name)) == 0 }, "a name of lower-case letters, digits and hyphens that begins with a letter"}
	storageURI  = scalar{isStorageURI, "a URI such as s3://bucket/folder, of at most 2048 characters"}
	timestamp   = scalar{isTimestamp, "a time such as 2026-01-31T12:00:00Z"}
)

func is[T any](v any) bool {
	_, ok := v.(T)
	return ok
}

func isInt32(v any) bool {
	n, ok := wholeNumber(v)
	return ok && n >= math.MinInt32 && n <= math.MaxInt32
}

// isStorageURI reports whether Trainer's CRD accepts a value as the URI of a dataset or model.
func isStorageURI(v any) bool {
	text, ok := v.(string)
	scheme, rest, found := strings.Cut(text, "://")
	return ok && (text == "" || found && rest != "" && uriScheme().MatchString(scheme) && len(text) <= 2048)
}

// uriScheme matches the scheme of a URI. Source: Trainer's CRD.
var uriScheme = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z][A-Za-z0-9+.-]*$`) })

// isManager reports whether Trainer's webhook accepts a value as the manager of a patch.
func isManager(v any) bool {
	text, _ := v.(string)
	return len(validation.IsDomainPrefixedPath(nil, text)) == 0
}

func isTimestamp(v any) bool {
	text, _ := v.(string)
	_, err := time.Parse(time.RFC3339, text)
	return err == nil
}

// wholeNumber converts integers to int64. It also converts floats that have no fraction, such as 2.0, if their
// absolute value is less than 2^53. The second result is false for other values.
func wholeNumber(v any) (int64, bool) {
	switch n := v.(type) {
	case int64:
		return n, true
	case int:
		return int64(n), true
	case float64:
		return int64(n), n == math.Trunc(n) && math.Abs(n) < 1<<53
	}
	return 0, false
}

// Patterns of quantities. The API server refuses a text that does not match kubernetesQuantity, which is the
// pattern in Trainer's CRD. The package "guard" parses only text that matches cheapQuantity, because other text
// can take minutes to parse. cheapQuantity is the pattern in policies/admission/rule_invalid_quantity.cue.
var (
	cheapQuantity = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`^\+?([0-9]{1,15}(\.[0-9]{0,9})?|\.[0-9]{1,9})([numkMGTPE]|[KMGTPE]i|[eE][+-]?[0-9]{1,2})?$`)
	})
	kubernetesQuantity = sync.OnceValue(func() *regexp.Regexp {
		const number = `([0-9]+(\.[0-9]*)?|\.[0-9]+)`
		return regexp.MustCompile(`^[+-]?` + number + `([KMGTPE]i|[numkMGTPE]|[eE][+-]?` + number + `)?$`)
	})
)

// amount is the schema of a quantity.
type amount struct{}

func (amount) check(v value, f *findings) {
	if _, ok := parseQuantity(v.content); ok {
		return
	}
	if text, ok := quantityText(v.content); ok && kubernetesQuantity().MatchString(text) {
		f.disallow(v, RuleInvalidQuantity, "want a positive quantity such as 4, 500m or 16Gi, with at most 15 digits before and 9 after the point, "+
			"and an exponent of at most 2 digits")
		return
	}
	f.typeError(v, `a quantity such as 4 or "16Gi"`)
}

// parseQuantity parses a quantity. The second result is false if the value does not match
// cheapQuantity.
func parseQuantity(v any) (resource.Quantity, bool) {
	text, ok := quantityText(v)
	if !ok || !cheapQuantity().MatchString(text) {
		return resource.Quantity{}, false
	}
	q, err := resource.ParseQuantity(text)
	return q, err == nil
}

// quantityText returns a quantity as text. In JSON, a quantity is a string or a whole number.
func quantityText(v any) (string, bool) {
	if n, ok := wholeNumber(v); ok {
		return strconv.FormatInt(n, 10), true
	}
	text, ok := v.(string)
	return text, ok
}
