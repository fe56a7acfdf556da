package message

import "unicode/utf8"

// Nearest returns the candidate that is most similar to the given word, or "" if none is similar enough. Nearest
// tolerates one typing error, plus one typing error for every four letters of the word.
func Nearest(word string, candidates []string) string {
	best, least := "", len(word)/4+2
	for _, candidate := range candidates {
		// The distance of two words is at least the difference of their lengths.
		if lengthDifference(word, candidate) >= least {
			continue
		}
		if d := countTypos(word, candidate); d < least {
			best, least = candidate, d
		}
	}
	return best
}

func lengthDifference(a, b string) int {
	n := utf8.RuneCountInString(a) - utf8.RuneCountInString(b)
	return max(n, -n)
}

// countTypos counts the typing errors between two words: inserted, missing, changed and swapped letters. Lower case and
// upper case count as equal, so Nearest always prefers a candidate that differs only in case.
func countTypos(a, b string) int {
	s, t := []rune(a), []rune(b)
	rows := make([][]int, len(s)+1)
	for i := range rows {
		rows[i] = make([]int, len(t)+1)
		rows[i][0] = i
	}
	for j := range rows[0] {
		rows[0][j] = j
	}
	for i := 1; i <= len(s); i++ {
		for j := 1; j <= len(t); j++ {
			rows[i][j] = computeCell(rows, s, t, i, j)
		}
	}
	return rows[len(s)][len(t)]
}

// computeCell computes one cell of the optimal string alignment table.
func computeCell(rows [][]int, s, t []rune, i, j int) int {
	cost := 1
	if lower(s[i-1]) == lower(t[j-1]) {
		cost = 0
	}
	d := min(rows[i-1][j]+1, rows[i][j-1]+1, rows[i-1][j-1]+cost)
	if i > 1 && j > 1 && lower(s[i-1]) == lower(t[j-2]) && lower(s[i-2]) == lower(t[j-1]) {
		d = min(d, rows[i-2][j-2]+1)
	}
	return d
}

func lower(r rune) rune {
	if 'A' <= r && r <= 'Z' {
		return r + 'a' - 'A'
	}
	return r
}
