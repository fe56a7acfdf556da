// Package resources checks the names of resources in containers, as Kubernetes does, and finds misspelled names of devices.
package resources

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/trainyard/trainyard/api/message"
	"github.com/trainyard/trainyard/generator/internal/wording"
)

// known contains the container resources whose names have no domain. Huge pages of sizes other than 2Mi and 1Gi are
// allowed too, but are not in the list "known".
var known = []string{"cpu", "memory", "ephemeral-storage", hugePages + "2Mi", hugePages + "1Gi"}

// hugePages is the prefix of the resources that consist of huge pages.
const hugePages = "hugepages-"

// quotaPrefixes lists the prefixes of resource names in a ResourceQuota.
var quotaPrefixes = []string{"requests.", "limits."}

// IsDevice reports whether a resource is an extended resource, such as a GPU. A container can request only a whole number of
// devices.
func IsDevice(name string) bool {
	return strings.Contains(name, "/") && !strings.Contains(name, "kubernetes.io/")
}

// CanOvercommit reports whether a container can omit the limit of a resource, or set a limit that differs from the
// request. Devices and huge pages cannot be overcommitted.
func CanOvercommit(name string) bool { return !IsDevice(name) && !strings.HasPrefix(name, hugePages) }

// DescribeInvalid returns a message if a container cannot have a resource with the given name. For a valid resource
// name, DescribeInvalid returns an empty message. Unlike Kubernetes, DescribeInvalid also refuses the prefix "limits."
// in device names. This prefix belongs to names in a ResourceQuota, and no cluster has a device with such a name.
// Source: the function validateContainerResourceName in the package pkg/apis/core/validation of Kubernetes.
func DescribeInvalid(name string) string {
	for _, prefix := range quotaPrefixes {
		if meant, ok := strings.CutPrefix(name, prefix); ok && isValid(meant) {
			return fmt.Sprintf("not allowed: the prefix %q belongs only to names in a ResourceQuota: %s", prefix, wording.Suggestion([]string{Correct(meant)}))
		}
	}
	if isValid(name) {
		return ""
	}
	if meant := suggest(name); meant != "" {
		return "unknown resource: " + wording.Suggestion([]string{meant})
	}
	return `unknown resource: want cpu, memory, ephemeral-storage, or a device such as nvidia.com/gpu (a domain, "/" and a name)`
}

func isValid(name string) bool {
	if !strings.Contains(name, "/") {
		return slices.Contains(known, name) || strings.HasPrefix(name, hugePages) && len(validation.IsQualifiedName(name)) == 0
	}
	inQuota := name // the name must also be valid with the prefix that it has in a ResourceQuota
	if IsDevice(name) {
		inQuota = "requests." + name
	}
	return len(validation.IsQualifiedName(inQuota)) == 0 && !strings.HasPrefix(name, "requests.")
}

// suggest returns the likely correction of a resource name, such as nvidia.com/gpu for gpu. It
// returns "" if the name has a domain, or if there is no likely correction.
func suggest(name string) string {
	if strings.Contains(name, "/") {
		return ""
	}
	lower := strings.ToLower(name)
	if lower == "gpu" || lower == "gpus" {
		return "nvidia.com/gpu"
	}
	if meant := message.Nearest(name, known); meant != "" && lower[0] == meant[0] { // gpu is no misspelling of cpu
		return meant
	}
	return ""
}
