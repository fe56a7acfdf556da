package kustomization

import (
	"maps"
	"strings"
)

// added is a map that counts the values in patches without a target. A patch without a target contains the name of the
// object that the patch changes. These names are the keys of the map. For each name, the map contains the number of
// values that the patches can add to an object with this name.
//
// Several names in the map can belong to the same object. For example, namePrefix can change the name of an object from
// "a" to "dev-a". Patches that kustomize applies before this change contain the name "a". Patches that kustomize
// applies after this change contain the name "dev-a". With namePrefix and with nameSuffix, the new name always contains
// the former name. The method "largest" therefore assumes that two names belong to the same object if one name contains
// the other. If several names belong to the same object, the method adds up the numbers that the map contains for these
// names.
type added map[string]int64

// plus merges two maps, the receiver and the argument "b", into a new map. If both maps contain the same key, the new
// map contains the sum of the two numbers for this key.
func (a added) plus(b map[string]int64) added {
	return a.combine(b, func(x, y int64) int64 { return x + y })
}

// larger merges two maps, the receiver and the argument "b", into a new map. If both maps contain the same key, the new
// map contains the larger of the two numbers for this key.
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

// sum returns the total of all numbers in the map. This total is the number of values that all patches together can
// add.
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
