package message

import "unicode/utf8"

// Nearest returns the candidate that is most similar to the given word. If no candidate is similar enough, or if several
// candidates are equally similar, Nearest returns "".
func Nearest(word string, candidates []string) string {
	if similar := Similar(word, candidates); len(similar) == 1 {
		return similar[0]
	}
	return ""
}

// Similar returns the candidates that are most similar to the given word, in the same order as in the argument
// "candidates". If several candidates are equally similar, Similar returns all of them. Similar returns an empty list
// if no candidate is similar enough. A candidate is similar enough if the number of typing errors does not exceed a
// limit. The limit is 1, plus 1 for every four letters of the word.
func Similar(word string, candidates []string) []string {
	var best []string
	least := len(word)/4 + 1
	for _, candidate := range candidates {
		// A large difference in length means many typing errors, so the candidate cannot be similar
		// enough.
		if lengthDifference(word, candidate) > least {
			continue
		}
		switch d := Typos(word, candidate); {
		case d < least:
			best, least = []string{candidate}, d
		case d == least:
			best = append(best, candidate)
		}
	}
	return best
}

func lengthDifference(a, b string) int {
	n := utf8.RuneCountInString(a) - utf8.RuneCountInString(b)
	return max(n, -n)
}

// Typos returns the number of typing errors that turn one word into the other: inserted, missing, changed and swapped
// letters. Typos ignores differences between upper and lower case. Nearest therefore prefers a candidate that equals
// the word except for upper and lower case.
func Typos(a, b string) int {
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
