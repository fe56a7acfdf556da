package bundles

import (
	"bytes"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/trainyard/trainyard/generator/object"
)

type boundCheck struct {
	limit object.Amount
	sums  []int // the numbers N of the template variables $sN that must not exceed the limit
}

// addBounds adds checks of bounds to the chart. A bound consists of a limit and a list of sums. No sum may exceed the
// limit. If neither the sum nor the limit depends on values of the chart, the chart does not check the sum. The schema
// of the chart checks two simple cases. In the first case, the limit is a constant, and the sum has only one term. This
// term is a value of the chart, and the schema allows only whole numbers for this value. The schema then requires that
// this value is not greater than the limit. In the second case, the sum has only one term, which is a constant. The
// limit is a value of the chart, and the schema allows only whole numbers for this value. The schema then requires that
// this value is not less than the constant. The file templates/bounds.yaml checks all other sums.
func (c *helmChart) addBounds(bounds []object.Bound) {
	for _, bound := range bounds {
		limit, check := c.values.valueAt(bound.Limit.Path), boundCheck{limit: bound.Limit}
		for _, sum := range bound.Sums {
			switch first := c.values.valueAt(sum.Amounts[0].Path); {
			case limit == nil && len(sum.Amounts) == 1 && first.isWhole():
				first.maximum = bound.Limit.Value
			case limit.isWhole() && len(sum.Amounts) == 1 && first == nil:
				limit.minimum = sum.Amounts[0].Value
			case limit != nil || slices.ContainsFunc(sum.Amounts, func(a object.Amount) bool { return c.values.valueAt(a.Path) != nil }):
				check.sums = append(check.sums, c.sumVariable(sum))
			}
		}
		if len(check.sums) > 0 {
			c.checks = append(c.checks, check)
		}
	}
}

// sumVariable returns the number N in the name of the template variable $sN. This variable contains the given sum. If
// several bounds use the same sum, the template contains only one variable for the sum.
func (c *helmChart) sumVariable(sum *object.Sum) int {
	i := slices.Index(c.sums, sum)
	if i < 0 {
		i, c.sums = len(c.sums), append(c.sums, sum)
	}
	return i
}

// boundsTemplate returns the contents of the file templates/bounds.yaml. If the values of a release violate a bound,
// this template fails, so Helm does not install or upgrade the release. If a release omits a component, the objects of
// the component are not installed, so the template does not check the bounds of the component. The template computes
// each sum only once, in a variable. Without variables, the template could become larger than Helm's limit for a file,
// which is 5 MiB.
func (c *helmChart) boundsTemplate() []byte {
	var b bytes.Buffer
	for i, sum := range c.sums {
		var terms []string
		for _, a := range sum.Amounts {
			terms = append(terms, c.term(a))
		}
		fmt.Fprintf(&b, "{{- $s%d := list %q %q }}\n{{- if %s }}{{ $s%[1]d = list %[2]q (include %[5]q (list %[6]s)) }}{{ end }}\n",
			i, sum.Requester, "0", c.values.valueAt(sum.Path).includesValue(), c.uniqueName()+".sum", strings.Join(terms, " "))
	}
	for _, check := range c.checks {
		var sums strings.Builder
		for _, i := range check.sums {
			fmt.Fprintf(&sums, " $s%d", i)
		}
		fmt.Fprintf(&b, "{{- if %s }}{{ include %q (list %q %s%s) }}{{ end }}\n", c.values.valueAt(check.limit.Path).includesValue(), c.uniqueName()+".atMost",
			setFlag(splitKeys(check.limit.Path)), c.term(check.limit), sums.String())
	}
	return b.Bytes()
}

// includesValue returns a template expression. In the file templates/bounds.yaml, this expression is the condition of a
// step that computes a sum or checks a limit. The expression is true if the release includes a component with objects
// that use the value. The value can be a mapping. An object uses a mapping if it uses any value in the mapping. If no
// component uses the value, or if v is nil, includesValue returns the constant expression "true". The template then
// never skips the step.
func (v *helmValue) includesValue() string {
	components := map[string]bool{}
	if v != nil {
		v.collectComponents(components)
	}
	var names []string
	for _, name := range slices.Sorted(maps.Keys(components)) {
		names = append(names, ".Values.components."+name)
	}
	switch len(names) {
	case 0:
		return "true"
	case 1:
		return names[0]
	}
	return "or " + strings.Join(names, " ")
}

func (v *helmValue) collectComponents(all map[string]bool) {
	maps.Copy(all, v.components)
	for _, child := range v.children {
		child.collectComponents(all)
	}
}

func (c *helmChart) term(a object.Amount) string {
	if c.values.valueAt(a.Path) != nil {
		return valueReference(splitKeys(a.Path))
	}
	return string(mustJSON(a.Value))
}
