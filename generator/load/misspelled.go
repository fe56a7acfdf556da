package load

import (
	"slices"
	"strings"
	"unicode"

	"github.com/trainyard/trainyard/api/message"
)

// Two words can differ by one typing error, such as a missing letter. The difference counts as a misspelling only if
// each of the two words has a minimum length. The following constants are the minimum lengths. Shorter words, such as a
// and b in the names team-a and team-b, often differ on purpose. In words of three letters, a replaced letter does not
// count as a misspelling, because such words often differ on purpose. For example, cluster-use and cluster-usw can be
// clusters in US East and US West.
const (
	minWord    = 3
	minReplace = 4 // for a letter that is replaced by another letter
)

// misspelledName returns a known name that differs from the given name by one typing error, or "" if there is none. The
// typing error can be in one of the words between hyphens. A hyphen can also be missing, repeated, or swapped with a
// letter.
func misspelledName(name string, known []string) string {
	for _, candidate := range known {
		if hasMisspelledWord(name, candidate) || hasOtherHyphen(name, candidate) {
			return candidate
		}
	}
	return ""
}

func hasMisspelledWord(name, other string) bool {
	words, others := strings.Split(name, "-"), strings.Split(other, "-")
	if len(words) != len(others) {
		return false
	}
	different := -1
	for i := range words {
		switch {
		case words[i] == others[i]:
		case different >= 0:
			return false
		default:
			different = i
		}
	}
	return different >= 0 && isMisspelled(words[different], others[different])
}

// isMisspelled reports whether two words differ by one typing error. The result is false for words that often differ on
// purpose, such as short words. The result is also false for words with digits (a100 and h100), and for words with
// different first letters (cpu and gpu, mpi and impi).
func isMisspelled(word, other string) bool {
	least := minWord
	if len(word) == len(other) && sortLetters(word) != sortLetters(other) {
		least = minReplace
	}
	return min(len(word), len(other)) >= least && word[0] == other[0] && !hasDigit(word+other) && message.Typos(word, other) == 1
}

// hasOtherHyphen reports whether two names are equal except for one additional or misplaced hyphen. The result
// is false for names with digits, such as v1-1 and v11, because they often differ on purpose.
func hasOtherHyphen(name, other string) bool {
	letters := strings.ReplaceAll(name, "-", "")
	return name != other && letters == strings.ReplaceAll(other, "-", "") && !hasDigit(letters) && message.Typos(name, other) == 1
}

func hasDigit(word string) bool { return strings.ContainsFunc(word, unicode.IsDigit) }

func sortLetters(word string) string {
	letters := []byte(word)
	slices.Sort(letters)
	return string(letters)
}
