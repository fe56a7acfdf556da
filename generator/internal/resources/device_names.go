package resources

import (
	"cmp"
	"regexp"
	"slices"
	"strings"

	"github.com/trainyard/trainyard/api/message"
)

// nvidia is the domain of the devices that NVIDIA's device plugin registers.
const nvidia = "nvidia.com"

// commonDevices lists common names of devices, as the vendors' device plugins register them.
var commonDevices = []string{
	nvidia + "/gpu", nvidia + "/gpu.shared", "amd.com/gpu", "gpu.intel.com/i915", "gpu.intel.com/xe", "habana.ai/gaudi", "aws.amazon.com/neuron",
}

// NVIDIA's device plugin registers MIG slices as mig-PROFILE. A MIG profile such as 1c.2g.10gb.me consists of the number of
// compute slices (1c, optional), the number of GPU slices (2g, from 1 to 7), the memory (10gb) and attributes (me,
// optional). NVIDIA's device plugin appends ".shared" to the name of a slice that several pods share. Sources: MigProfile
// in go-nvlib, and AddMIGResource in k8s-device-plugin.
var (
	migSlice = regexp.MustCompile(`^mig-([1-7]c\.)?[1-7]g\.[1-9][0-9]*gb([.-](me|me\.all|gfx))*(\.shared)?$`)
	// likeMIG matches every name that begins like the name of a MIG slice.
	likeMIG = regexp.MustCompile(`(?i)^mig(-|[._]?[0-9])`)
	// almostMIG matches misspelled MIG slices, and captures the prefix, the number of slices, the memory and the attributes.
	almostMIG = regexp.MustCompile(`(?i)^([a-z]{2,4})[-._]?([1-7])[-._]?g[-._]?([1-9][0-9]*)[gib]{0,3}((?:[.-](?:me|me\.all|gfx|shared))*)$`)
)

// maxDeviceName is the maximum length of a device's name in Kubernetes: a domain, "/" and a label.
const maxDeviceName = 253 + 1 + 63

// Correct returns the corrected name of a device if the given name is probably misspelled, and otherwise
// the given name.
func Correct(name string) string {
	if len(name) > maxDeviceName {
		return name
	}
	return cmp.Or(commonDevice(name), name)
}

// DescribeMisspelling returns a message in two cases. In the first case, the device name is a misspelling of a common
// name. In the second case, the device name looks like the name of an NVIDIA MIG slice, but is not valid. For all other
// names, DescribeMisspelling returns an empty message, because administrators and vendors can choose the names of their
// devices.
func DescribeMisspelling(name string) string {
	if len(name) > maxDeviceName { // comparing long names with each common name takes long
		return ""
	}
	domain, device, _ := strings.Cut(name, "/")
	if meant := commonDevice(name); meant != "" {
		return "unknown device: did you mean " + message.Quote(meant) + "?"
	}
	if domain == nvidia && likeMIG.MatchString(device) && !migSlice.MatchString(device) {
		return "unknown device: want a MIG slice such as nvidia.com/mig-1g.5gb: after \"mig-\", write a MIG profile that the GPU supports, such as 3g.20gb; a profile has 1 to 7 GPU slices (1g to 7g)"
	}
	return ""
}

// commonDevice returns the correct spelling of a device name that is probably misspelled, and otherwise "". Device
// names of different vendors often differ by only a few letters, such as gpu and npu. Therefore commonDevice treats
// only certain differences between names as spelling mistakes.
func commonDevice(name string) string {
	if slices.Contains(commonDevices, name) {
		return ""
	}
	domain, device, _ := strings.Cut(name, "/")
	for _, common := range commonDevices {
		ownDomain, own, _ := strings.Cut(common, "/")
		if domain == ownDomain && isMisspelled(device, own) || device == own && isMisspelledDomain(domain, ownDomain) {
			return common
		}
	}
	if isMisspelledRDMA(domain) {
		return rdma + "/" + device
	}
	if slice := migSliceIn(device); slice != "" && name != nvidia+"/"+slice && (domain == nvidia || isMisspelledDomain(domain, nvidia)) {
		return nvidia + "/" + slice
	}
	return ""
}

// minDomain is a minimum length for known domains. Suppose that a domain differs by one typing error from a known
// domain. If the known domain has at least this minimum length, isMisspelledDomain reports a misspelling. A shorter
// known domain, such as amd.com, can differ by only one letter from the domain of another vendor. Therefore, if the
// known domain is short, one different letter is not always a typing error.
const minDomain = 8

// isMisspelledDomain reports whether a domain is a misspelling of a known domain. The argument "meant" is the known
// domain. A domain counts as a misspelling in two cases. In the first case, the domain lacks only the ending ".com":
// with this ending, the domain would be equal to the known domain. In the second case, the domain differs from the
// known domain by one typing error, and the known domain has at least minDomain characters.
func isMisspelledDomain(domain, meant string) bool {
	return domain+".com" == meant || len(meant) >= minDomain && message.Typos(domain, meant) == 1
}

// isMisspelled reports whether a word is a misspelling of another word. A misspelling has the same letters in another
// order or case, repeats a letter, or has an additional s at the end. For the word gpu, every typing error after the
// first letter also counts as a misspelling. A typing error in the first letter of gpu does not count, because vgpu,
// pgpu and npu are names of other devices.
func isMisspelled(word, meant string) bool {
	word = strings.ToLower(word)
	if meant == "gpu" && strings.HasPrefix(word, "g") && message.Typos(word, meant) == 1 {
		return true
	}
	return word == meant+"s" || sortLetters(word) == sortLetters(meant) || string(slices.Compact([]byte(word))) == meant
}

func sortLetters(word string) string {
	letters := []byte(word)
	slices.Sort(letters)
	return string(letters)
}

// migSliceIn returns the correct spelling of a MIG slice, such as mig-1g.5gb for "mig1g5gb". The result is "" if the name
// does not look like a MIG slice.
func migSliceIn(device string) string {
	if migSlice.MatchString(device) {
		return device
	}
	read := almostMIG.FindStringSubmatch(device)
	if read == nil || message.Typos(read[1], "mig") > 1 {
		return ""
	}
	slice := "mig-" + read[2] + "g." + read[3] + "gb" + strings.ToLower(read[4])
	if !migSlice.MatchString(slice) {
		return ""
	}
	return slice
}

// rdma is the part before "/" in the names that the RDMA shared device plugin registers, such as rdma/hca.
const rdma = "rdma"

// isMisspelledRDMA reports whether the part of a name before "/" is probably meant to be "rdma". If the part before "/"
// contains a dot, it is the domain of a vendor, and not a misspelling.
func isMisspelledRDMA(domain string) bool {
	return domain != rdma && !strings.Contains(domain, ".") && (message.Typos(domain, rdma) == 1 || sortLetters(domain) == sortLetters(rdma))
}
