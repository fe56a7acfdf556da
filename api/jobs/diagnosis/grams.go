package diagnosis

// grams is the set of all byte sequences of the length gramSize that a log contains. mayContain uses the set to quickly
// exclude words that the log does not contain. A search for each word would be slow, because a log can be a megabyte
// long, and the catalogue has more than a thousand words.
//
// Several byte sequences share one bit of the set, so mayContain can return true although the log does
// not contain the word.
type grams [1 << (gramBits - 6)]uint64

const (
	gramSize = 4
	// gramBits is the binary logarithm of the number of bits in the set. The set uses 64 KiB of memory. For a megabyte
	// of text from different logs, newGrams sets about a sixth of these bits to 1.
	gramBits = 19
)

func newGrams(text string) *grams {
	g := &grams{}
	for i := 0; i+gramSize <= len(text); i++ {
		bit := gramAt(text, i)
		g[bit/64] |= 1 << (bit % 64)
	}
	return g
}

// gramAt returns the index of the bit for the byte sequence that begins at text[i].
func gramAt(text string, i int) uint32 {
	gram := uint32(text[i]) | uint32(text[i+1])<<8 | uint32(text[i+2])<<16 | uint32(text[i+3])<<24
	return gram * 2654435761 >> (32 - gramBits) // the multiplication spreads similar sequences over all bits
}

// mayContain reports whether the log can contain the word. If mayContain returns false, the log certainly does not contain
// the word.
func (g *grams) mayContain(word string) bool {
	for i := 0; i+gramSize <= len(word); i++ {
		if bit := gramAt(word, i); g[bit/64]&(1<<(bit%64)) == 0 {
			return false
		}
	}
	return true
}
