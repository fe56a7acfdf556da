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

// NVIDIA's device plugin registers MIG slices as mig-PROFILE. A profile such as 1c.2g.10gb.me has an optional number of
// compute slices (1c), the number of GPU slices from 1 to 7 (2g), the memory (10gb), and optional attributes (me). The plugin
// appends ".shared" to the name of a slice that several pods share. Sources: go-nvlib, MigProfile; k8s-device-plugin,
// AddMIGResource.
var (
	migSlice = regexp.MustCompile(`^mig-([1-7]c\.)?[1-7]g\.[1-9][0-9]*gb([.-](me|me\.all|gfx))*(\.shared)?$`)
	// likeMIG matches names that begin like a MIG slice, whatever follows.
	likeMIG = regexp.MustCompile(`(?i)^mig(-|[._]?[0-9])`)
	// almostMIG matches misspelled MIG slices, and captures the prefix, the number of slices, the memory and the attributes.
	almostMIG = regexp.MustCompile(`(?i)^([a-z]{2,4})[-._]?([1-7])[-._]?g[-._]?([1-9][0-9]*)[gib]{0,3}((?:[.-](?:me|me\.all|gfx|shared))*)$`)
)

// maxDeviceName is the maximum length of a device's name in Kubernetes: a domain, "/" and a label.
const maxDeviceName = 253 + 1 + 63

// Correct returns the common name of a device that an author has probably misspelled, or the name itself.
func Correct(name string) string {
	if len(name) > maxDeviceName {
		return name
	}
	return cmp.Or(commonDevice(name), name)
}

// DescribeMisspelling returns a message about the name of a device if it is a misspelling of a common name, or an invalid
// MIG slice of NVIDIA. All other names get an empty message, because administrators and vendors can choose the names of
// their devices.
func DescribeMisspelling(name string) string {
	if len(name) > maxDeviceName { // comparing long names with each common name takes long
		return ""
	}
	domain, device, _ := strings.Cut(name, "/")
	if meant := commonDevice(name); meant != "" {
		return "unknown device: did you mean " + message.Quote(meant) + "?"
	}
	if domain == nvidia && likeMIG.MatchString(device) && !migSlice.MatchString(device) {
		return "unknown device: want a MIG slice such as nvidia.com/mig-1g.5gb, with a profile of 1 to 7 slices that the GPU supports"
	}
	return ""
}

// commonDevice returns the name that an author has probably misspelled, or "". Vendors have many names that differ by a
// few letters, such as gpu and npu, so commonDevice accepts only the errors below as misspellings.
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

// minDomain is the minimum length of a domain in which one typing error counts as a misspelling. Shorter domains, such
// as amd.com, differ by one letter from domains of other vendors.
const minDomain = 8

// isMisspelledDomain reports whether a domain lacks the ending ".com" of the domain "meant", or differs from "meant" by one
// typing error. For a typing error, "meant" must have at least minDomain characters.
func isMisspelledDomain(domain, meant string) bool {
	return domain+".com" == meant || len(meant) >= minDomain && message.Typos(domain, meant) == 1
}

// isMisspelled reports whether a word has the letters of another word in another order or in another case, repeats one of
// these letters, or has an additional s at the end. For gpu, every other typing error counts too, except in the first
// letter, because vgpu, pgpu and npu are names of other devices.
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

// migSliceIn returns the correct spelling of a MIG slice, such as mig-1g.5gb for "mig1g5gb". It returns "" if the name does
// not look like a MIG slice.
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

// isMisspelledRDMA reports whether the part of a name before "/" is probably meant to be "rdma". A part with a dot is the
// domain of a vendor, and no misspelling.
func isMisspelledRDMA(domain string) bool {
	return domain != rdma && !strings.Contains(domain, ".") && (message.Typos(domain, rdma) == 1 || sortLetters(domain) == sortLetters(rdma))
}
