package guard

import (
	"maps"
	"math"
	"regexp"
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/trainyard/trainyard/generator/problem"
)

// shape is what may stand at a place of a TrainJob.
type shape interface {
	// read collects what does not fit.
	read(t tree, f *misfits)
}

// misfits are values of wrong types, which the API server refuses whatever the rules are, and
// fields that do not belong there.
type misfits struct {
	wrong field.ErrorList
	odd   []Odd
}

// object has these fields, and whoever writes another one breaks a rule.
type object struct {
	rule   Rule
	fields map[string]shape
}

func (o object) read(t tree, f *misfits) {
	if _, ok := t.value.(map[string]any); !ok {
		f.expect(t, "a mapping")
		return
	}
	for _, key := range t.keys() {
		below := t.get(key)
		switch shape, known := o.fields[key]; {
		case !below.given():
		case !known:
			f.refuse(below, o.rule, "not among the fields that a TrainJob may set here: "+o.advice(key))
		default:
			o.follow(shape, below, f)
		}
	}
}

func (o object) follow(shape shape, t tree, f *misfits) {
	if why, ok := shape.(refused); ok {
		f.refuse(t, o.rule, string(why))
		return
	}
	shape.read(t, f)
}

// maxAdvice bounds the length of a key for which the one that was meant is looked for.
const maxAdvice = 60

func (o object) advice(key string) string {
	if len(key) <= maxAdvice {
		if meant := problem.Nearest(key, o.allowed()); meant != "" {
			return "write " + meant + ", or leave it out"
		}
	}
	return "leave it out"
}

// allowed are the fields that may be set.
func (o object) allowed() []string {
	return slices.DeleteFunc(slices.Sorted(maps.Keys(o.fields)), func(key string) bool {
		_, no := o.fields[key].(refused)
		return no
	})
}

// refused is a field that somebody has decided against: why, and what to do instead.
type refused string

func (refused) read(tree, *misfits) {}

// list holds items of one shape.
type list struct{ of shape }

func (l list) read(t tree, f *misfits) {
	if _, ok := t.value.([]any); !ok {
		f.expect(t, "a list")
	}
	for _, item := range t.items() {
		if item.given() {
			l.of.read(item, f)
		} else {
			f.expect(item, "something, or one item less")
		}
	}
}

// mapping holds values of one shape by keys that somebody chooses.
type mapping struct{ of shape }

func (m mapping) read(t tree, f *misfits) {
	if _, ok := t.value.(map[string]any); !ok {
		f.expect(t, "a mapping")
	}
	for _, key := range t.keys() {
		if below := (tree{t.get(key).value, t.path.Key(shown(key))}); below.given() {
			m.of.read(below, f)
		}
	}
}

// leaf has no parts.
type leaf struct {
	fits   func(any) bool
	wanted string
}

func (l leaf) read(t tree, f *misfits) {
	if !l.fits(t.value) {
		f.expect(t, l.wanted)
	}
}

func (f *misfits) expect(t tree, wanted string) {
	f.wrong = append(f.wrong, field.TypeInvalid(t.path, t.value, "the API server refuses this here: write "+wanted))
}

func (f *misfits) refuse(t tree, rule Rule, says string) {
	f.odd = append(f.odd, Odd{t.path, rule, says})
}

// Kinds of leaves.
var (
	anything = leaf{func(any) bool { return true }, ""}
	text     = leaf{is[string], "text, in quotes if it looks like something else"}
	truth    = leaf{is[bool], "true or false, without quotes"}
	number   = leaf{func(v any) bool { _, ok := whole(v); return ok }, "a whole number, without quotes"}
	count    = leaf{isCount, "a whole number, without quotes and up to 2147483647"}
	word     = leaf{func(v any) bool { return is[string](v) || isCount(v) }, "a whole number, or a word"}
	amount   = leaf{func(v any) bool { _, ok := quantity(v); return ok }, `a quantity such as 4 or "16Gi"`}
	moment   = leaf{isTime, "a time such as 2026-01-31T12:00:00Z"}
)

func is[T any](v any) bool {
	_, ok := v.(T)
	return ok
}

func isCount(v any) bool {
	n, ok := whole(v)
	return ok && n >= math.MinInt32 && n <= math.MaxInt32
}

func isTime(v any) bool {
	text, _ := v.(string)
	_, err := time.Parse(time.RFC3339, text)
	return err == nil
}

// whole reads a whole number; 2.0 is one.
func whole(v any) (int64, bool) {
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

// hugeExponent is a quantity that takes minutes to read, and that nobody means.
var hugeExponent = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`[eE][-+]?[0-9]{3,}$`) })

func quantity(v any) (resource.Quantity, bool) {
	if n, ok := whole(v); ok {
		return *resource.NewQuantity(n, resource.DecimalSI), true
	}
	text, ok := v.(string)
	if !ok || len(text) > 100 || hugeExponent().MatchString(text) {
		return resource.Quantity{}, false
	}
	q, err := resource.ParseQuantity(text)
	return q, err == nil
}
