package guard

import (
	"maps"
	"regexp"
	"slices"
	"strings"
	"sync"

	"k8s.io/apimachinery/pkg/util/validation/field"
)

// resourcesAreComplete: nodes without CPU and memory of their own are the first that a machine ends, and a quota has them
// never made.
func resourcesAreComplete(job Job, p Parameters) field.ErrorList {
	runtime, known := p.runtime(job.Runtime)
	if !known || job.Replaces == "" {
		return nil
	}
	var missing []string
	for _, name := range computed {
		amount, given := runtime.Resources[name]
		_, limited := job.Limits[name]
		if _, requested := job.Requests[name]; given && !limited && !requested {
			missing = append(missing, name+": "+amount)
		}
	}
	if len(missing) == 0 {
		return nil
	}
	return forbids(trainerPath.Child("resourcesPerNode"), "Trainer %s gives nodes what is here, and nothing of what the runtime says: write %s too, or other amounts of them",
		job.Replaces, strings.Join(missing, ", "))
}

// rdmaNames are what devices of RDMA are called: rdma/hca_shared_devices_a, openshift.io/mlnx_ib, vpc.amazonaws.com/efa.
var rdmaNames = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?i)rdma|infiniband|(^|[/_.-])(ib|hca|efa|roce)([0-9_.-]|$)`)
})

// networkIsEncrypted: ranks take RDMA wherever they find it.
func networkIsEncrypted(job Job, p Parameters) field.ErrorList {
	if p.Encryption == "none" {
		return nil
	}
	names := slices.Concat(slices.Collect(maps.Keys(job.Limits)), slices.Collect(maps.Keys(job.Requests)))
	slices.Sort(names)
	for _, name := range names {
		if rdmaNames().MatchString(name) {
			return forbids(trainerPath.Child("resourcesPerNode"), "%s goes around the pod network, which %s encrypts here: leave it out", shown(name), p.Encryption)
		}
	}
	return nil
}
