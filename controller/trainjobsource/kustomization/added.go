package kustomization

import (
	"maps"
	"strings"
)

// added counts the values of patches without a target. Such a patch contains the name of the object that it changes.
// added maps each of these names to the number of values that the patches can add to an object with this name.
//
// Several names in the map can belong to the same object. For example, if namePrefix changes the name "a" to "dev-a",
// earlier patches contain "a", and later patches contain "dev-a". With namePrefix and with nameSuffix, the new name
// always contains the former name. The method "largest" therefore assumes that two names belong to the same object if
// one name contains the other. For such names, it adds the numbers of values.
type added map[string]int64

// plus returns a map that contains, for each name, the sum of the numbers of the two maps.
func (a added) plus(b map[string]int64) added {
	return a.combine(b, func(x, y int64) int64 { return x + y })
}

// larger returns a map that contains, for each name, the larger number of the two maps.
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

// sum returns the total number of values of all names.
func (a added) sum() (sum int64) {
	for _, values := range a {
		sum += values
	}
	return sum
}

// largest returns the largest number of values that the patches together can add to a single
// object.
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
