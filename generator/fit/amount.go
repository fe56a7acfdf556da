package fit

import (
	"fmt"
	"math"
	"strconv"

	"k8s.io/apimachinery/pkg/api/resource"
)

// Read reads amounts as a document has them, and adds the pod that asks for them.
func Read(given map[string]any, pods int64) (Amounts, error) {
	all := Amounts{}
	if pods > 0 {
		all["pods"] = pods
	}
	for name, value := range given {
		amount, err := amountOf(name, value)
		if err != nil {
			return nil, err
		}
		all[name] = amount
	}
	return all, nil
}

func amountOf(name string, value any) (int64, error) {
	quantity, err := resource.ParseQuantity(fmt.Sprint(value))
	if err != nil {
		return 0, fmt.Errorf("reading %v of %s: %w", value, name, err)
	}
	if name == "cpu" {
		return quantity.MilliValue(), nil
	}
	return quantity.Value(), nil
}

// Words are an amount in its unit, as a person would write it.
func Words(name string, amount int64) string {
	switch name {
	case "cpu":
		return strconv.FormatFloat(float64(amount)/1000, 'f', -1, 64) + " CPUs"
	case "memory":
		return fmt.Sprintf("%d MiB", int64(math.Ceil(float64(amount)/(1<<20))))
	case "pods":
		return fmt.Sprintf("%d pods", amount)
	}
	return fmt.Sprintf("%d of %s", amount, name)
}
