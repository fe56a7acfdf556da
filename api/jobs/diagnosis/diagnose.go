package diagnosis

import (
	"cmp"
	"slices"
	"time"
)

// Diagnosis is a failure that was recognized in a text.
type Diagnosis struct {
	Failure
	// Text is the text in which the failure was recognized. If several texts show the failure, Diagnose makes one
	// diagnosis from each of these texts, and sorts these diagnoses with the function "compare". In most cases, the
	// field Text is the text of the first diagnosis in this order. There is one exception: this text can be a message
	// of Kubernetes about a pod. If the log of this pod also shows the failure, the field Text is the log instead.
	Text Text
	// Line is the number of the line in Text that shows the failure, counted from 1. Evidence is the text of this line
	// or, if the line is long, the part around the match. Evidence has at most 300 characters, plus an ellipsis if it
	// was shortened. Evidence is safe to print.
	Line     int
	Evidence string
	// Count is the number of texts in which the failure was recognized.
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
			continue
		}
		count := found[i].Count + 1
		if isMoreSpecific(r.Text, found[i].Text) {
			found[i] = r.Diagnosis
		}
		found[i].Count = count
	}
	return found
}

// isMoreSpecific reports whether the argument "text" is better evidence for a failure than the argument "other". The log of
// a pod shows more than the messages of Kubernetes about this pod: for example, the log names the rank that crashed.
func isMoreSpecific(text, other Text) bool {
	return text.Source == Log && other.Source == Cluster && text.Pod == other.Pod
}

// ranked is a diagnosis and its sort keys.
type ranked struct {
	Diagnosis
	text   int // the index of the text in the argument of Diagnose
	origin int // the smallest index in the list origins among the diagnoses of the same text and level
}

// rank adds the sort keys to diagnoses. All diagnoses in the argument "found" were found in the same text. The argument
// "index" is the position of this text in the list that Diagnose gets as its argument.
func rank(index int, found []Diagnosis) []ranked {
	best := map[Level]int{}
	for _, d := range found {
		origin := slices.Index(origins, d.Origin)
		if first, known := best[d.Level]; !known || origin < first {
			best[d.Level] = origin
		}
	}
	var all []ranked
	for _, d := range found {
		all = append(all, ranked{d, index, best[d.Level]})
	}
	return all
}

// compare defines the order of diagnoses, from the most probable cause to the least probable. Diagnoses with the level
// Cause come first, then diagnoses with the level General, and then diagnoses with the level Symptom. If two diagnoses
// both have the level Cause, the diagnosis whose text (field Text) is older comes first. The same is true if two
// diagnoses both have the level General. If the times of the two texts are equal, the diagnosis with the smaller value
// of ranked.origin comes first. If these values are also equal, the two diagnoses have the same order as their texts in
// the argument of Diagnose. Causes in the same text are in the order of their lines, and general failures in the same
// text are in the order of the catalogue. If two diagnoses both have the level Symptom, the diagnosis whose failure is
// earlier in the catalogue comes first, even if its text is newer. The reason is that in most cases, the failure with
// the earlier position in the catalogue explains more. If both diagnoses show the same failure, the diagnosis with the
// older text comes first. A Python exception that is not in the catalogue comes before all other symptoms.
func compare(a, b ranked) int {
	inText := cmp.Compare(a.Line, b.Line)
	if a.Level != Cause {
		inText = cmp.Compare(a.position, b.position)
	}
	symptoms := 0
	if a.Level == Symptom {
		symptoms = cmp.Or(cmp.Compare(boolToInt(b.Traceback), boolToInt(a.Traceback)), cmp.Compare(a.position, b.position))
	}
	return cmp.Or(
		cmp.Compare(levelOf(&a.Failure), levelOf(&b.Failure)),
		symptoms,
		compareTimes(a.Text.Time, b.Text.Time),
		cmp.Compare(a.origin, b.origin),
		cmp.Compare(a.text, b.text),
		inText,
	)
}

// compareTimes compares times in whole seconds, because the kubelet reports no fractions of a second. An unknown time comes
// after all known times.
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
