package diagnosis

import (
	"cmp"
	"slices"
	"time"
)

// Diagnosis is a failure that was recognized in a text.
type Diagnosis struct {
	Failure
	// Text is the first text with the failure.
	Text Text
	// Line is the number of the line in the text, counted from 1, and Evidence is this line, safe to print and with at most
	// 300 characters.
	Line     int
	Evidence string
	// Count is the number of texts with the failure.
	Count int
}

// Diagnose returns the failures in the texts, with the most probable cause first. Each failure appears once.
func Diagnose(texts []Text) []Diagnosis {
	var all []ranked
	for i, text := range texts {
		all = append(all, rank(i, search(text))...)
	}
	slices.SortStableFunc(all, compare)
	var found []Diagnosis
	for _, r := range all {
		i := slices.IndexFunc(found, func(d Diagnosis) bool { return d.Code == r.Code })
		if i < 0 {
			found = append(found, r.Diagnosis)
		} else {
			found[i].Count++
		}
	}
	return found
}

// ranked is a diagnosis with its sort keys.
type ranked struct {
	Diagnosis
	text   int // the position of the text
	origin int // the smallest index in origins among the diagnoses of the same text and level
}

// rank computes the sort keys of the diagnoses of one text.
func rank(text int, found []Diagnosis) []ranked {
	best := map[Level]int{}
	for _, d := range found {
		origin := slices.Index(origins, d.Origin)
		if first, known := best[d.Level]; !known || origin < first {
			best[d.Level] = origin
		}
	}
	var all []ranked
	for _, d := range found {
		all = append(all, ranked{d, text, best[d.Level]})
	}
	return all
}

// compare orders diagnoses by the probability that they are the cause of the others: by level, then by time, and then by
// origin. In one text, the earlier line comes first, except that general failures have the order of the catalogue.
func compare(a, b ranked) int {
	levels := []Level{Cause, General, Symptom}
	inText := cmp.Compare(a.Line, b.Line)
	if a.Level == General {
		inText = cmp.Compare(a.position, b.position)
	}
	return cmp.Or(
		cmp.Compare(slices.Index(levels, a.Level), slices.Index(levels, b.Level)),
		compareTimes(a.Text.Time, b.Text.Time),
		cmp.Compare(a.origin, b.origin),
		cmp.Compare(a.text, b.text),
		inText,
	)
}

// compareTimes orders times by seconds, because the kubelet reports no fractions. An unknown time comes last.
func compareTimes(a, b time.Time) int {
	if a.IsZero() || b.IsZero() {
		return cmp.Compare(boolToInt(a.IsZero()), boolToInt(b.IsZero()))
	}
	return a.Truncate(time.Second).Compare(b.Truncate(time.Second))
}

func boolToInt(b bool) int {
	if b {
		return 1
	}
	return 0
}
