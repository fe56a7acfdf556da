package sizing

import (
	"fmt"
	"maps"
	"math"
	"strconv"

	"k8s.io/apimachinery/pkg/api/resource"
)

// Amounts maps resource names to amounts. The amount of CPU is in thousandths of a core. The amounts of memory,
// ephemeral storage and huge pages are in bytes. The amount of any other resource is a count.
type Amounts map[string]int64

// ParseAmounts parses the quantities of a document. If the argument "pods" is above 0, it becomes the amount of the
// resource "pods".
func ParseAmounts(quantities map[string]any, pods int64) (Amounts, error) {
	amounts := Amounts{}
	if pods > 0 {
		amounts["pods"] = pods
	}
	for name, value := range quantities {
		quantity, err := resource.ParseQuantity(fmt.Sprint(value))
		switch {
		case err != nil:
			return nil, fmt.Errorf("reading %v of %s: %w", value, name, err)
		case name == "cpu":
			amounts[name] = quantity.MilliValue()
		default:
			amounts[name] = quantity.Value()
		}
	}
	return amounts, nil
}

// Quantity returns an amount of a resource as a Kubernetes quantity.
func Quantity(name string, amount int64) string {
	switch name {
	case "cpu":
		return resource.NewMilliQuantity(amount, resource.DecimalSI).String()
	case "memory", "ephemeral-storage":
		return resource.NewQuantity(amount, resource.BinarySI).String()
	}
	return strconv.FormatInt(amount, 10)
}

// Format returns an amount of a resource with its unit, such as "1.5 CPUs".
func Format(name string, amount int64) string {
	switch name {
	case "cpu":
		return plural(strconv.FormatFloat(float64(amount)/1000, 'f', -1, 64), "CPU")
	case "memory", "ephemeral-storage":
		whole := int64(math.Ceil(float64(amount)/(1<<20))) << 20
		return Quantity(name, whole) + " of " + name
	case "pods":
		return plural(strconv.FormatInt(amount, 10), "pod")
	}
	return fmt.Sprintf("%d of %s", amount, name)
}

func plural(number, unit string) string {
	if number == "1" {
		return number + " " + unit
	}
	return number + " " + unit + "s"
}

// subtract returns, for each resource in "a", the amount in "a" minus the amount in "other".
// The results can be negative.
func (a Amounts) subtract(other Amounts) Amounts {
	rest := maps.Clone(a)
	for name := range rest {
		rest[name] -= other[name]
	}
	return rest
}

// countPods returns how many pods with the given requests fit into the amounts in "a". If the map "a" contains no
// amount of a resource, the resource is unlimited.
func (a Amounts) countPods(requests Amounts) int64 {
	pods := int64(math.MaxInt64)
	for name, available := range a {
		switch requested := requests[name]; {
		case available < 0:
			return 0
		case requested > 0:
			pods = min(pods, available/requested)
		}
	}
	return pods
}

// Add adds two amounts that are not negative. If the sum overflows, Add returns the largest int64.
func Add(a, b int64) int64 {
	if a > math.MaxInt64-b {
		return math.MaxInt64
	}
	return a + b
}

// multiply multiplies two amounts that are not negative. If the product overflows, multiply returns the largest int64.
func multiply(a, b int64) int64 {
	if a > 0 && b > math.MaxInt64/a {
		return math.MaxInt64
	}
	return a * b
}
