package kustomization

import (
	"maps"
	"strings"
)

// added is the number of values that patches without a target can add to an object. The key is the object's name in the patch.
//
// namePrefix and nameSuffix can change the name of an object after a patch. The next patch then uses the new name, which contains the
// old one.
type added map[string]int64

// plus returns the sum of both for each name.
func (a added) plus(b map[string]int64) added {
	return a.combine(b, func(x, y int64) int64 { return x + y })
}

// larger returns the larger number for each name.
func (a added) larger(b map[string]int64) added {
	return a.combine(b, func(x, y int64) int64 { return max(x, y) })
}

func (a added) combine(b map[string]int64, combine func(x, y int64) int64) added {
	result := make(added, len(a)+len(b))
	maps.Copy(result, a)
	for name, values := range b {
		result[name] = combine(result[name], values)
	}
	return result
}

// sum returns the number of values for all names.
func (a added) sum() (sum int64) {
	for _, values := range a {
		sum += values
	}
	return sum
}

// largest returns the largest number of values that all patches can add to one object.
func (a added) largest() (largest int64) {
	for longest := range a {
		sum := int64(0)
		for name, values := range a {
			if strings.Contains(longest, name) {
				sum += values
			}
		}
		largest = max(largest, sum)
	}
	return largest
}
