package diagnosis

import (
	"regexp"
	"slices"
	"strings"

	"github.com/trainyard/trainyard/api/sanitize"
)

// search returns the failures in a text, each with one line as evidence. If several lines show the same failure, the
// evidence is usually the first of these lines. search finds at most one failure in each line of the text.
func search(text Text) []Diagnosis {
	if text.Source != Log {
		text.Message = strings.Join(strings.Fields(text.Message), " ") // line breaks in a message of Kubernetes have no meaning
	}
	s := scan{text: text, candidates: candidatesFor(text)}
	if len(s.candidates) == 0 {
		return nil
	}
	s.lines = text.lines()
	code := codeLines(s.lines)
	for i, line := range s.lines {
		isCommand := text.Source == Log && prompt.MatchString(line)
		if !code[i] && !isCommand && !harmless.MatchString(line) {
			s.readLine(i)
		}
	}
	// An incomplete traceback does not name the exception, and a warning does not end the program. The function
	// "search" therefore reports an incomplete traceback or a warning only if the text shows no other failure.
	for _, weak := range [][]Diagnosis{s.incomplete, s.warnings} {
		if len(s.found) == 0 && len(weak) > 0 {
			return weak[:1]
		}
	}
	return s.found
}

// scan is the state of a search in one text.
type scan struct {
	text       Text
	lines      []string
	candidates []Failure
	found      []Diagnosis
	incomplete []Diagnosis // tracebacks whose end is missing
	warnings   []Diagnosis // general failures in warnings
}

// readLine searches lines[i] for a failure. If the line shows a failure, readLine adds the failure
// to the results.
func (s *scan) readLine(i int) {
	line := s.lines[i]
	f, at := firstMatch(s.candidates, line)
	if f == nil {
		return
	}
	d := Diagnosis{Failure: *f, Text: s.text, Line: i + 1, Evidence: evidence(line, at), Count: 1}
	switch {
	case s.text.Source == Log && f.Level == General && isWarning(line):
		d.Level = Symptom
		s.warnings = append(s.warnings, d)
	case f.Traceback && isIncomplete(s.lines[i:]):
		s.incomplete = append(s.incomplete, d)
	case f.Traceback:
		s.addTraceback(*f, i)
	case !slices.ContainsFunc(s.found, func(other Diagnosis) bool { return other.Code == f.Code }):
		s.found = append(s.found, d)
	}
}

// addTraceback adds the failure f to the results. If lines[start] begins a traceback, the evidence is the last line of
// the traceback. Otherwise the evidence is lines[start]. A program can print a traceback only while it still runs.
// Lines before the traceback can show general failures and Python exceptions. Because the program still ran after these
// lines, addTraceback assumes that these failures and exceptions did not end the program. addTraceback removes these
// failures and exceptions from the results before it adds the traceback. However, addTraceback keeps the failures that
// were found in warnings of NCCL.
//
// In three cases, addTraceback adds nothing:
//   - Another failure matches the last line of the traceback. The method readLine adds this failure when it reads the
//     line.
//   - The results are not empty, and Python reports the traceback as the consequence of an earlier exception.
//   - lines[start] does not begin a traceback, and the results already contain a Python exception. The line of the
//     earlier exception remains the evidence.
func (s *scan) addTraceback(f Failure, start int) {
	end := start + endOfTraceback(s.lines[start:])
	if end > start {
		if other, _ := firstMatch(s.candidates, s.lines[end]); other != nil && other.Code != f.Code {
			return
		}
		if len(s.found) > 0 && isConsequence(s.lines[:start]) {
			return
		}
		s.found = slices.DeleteFunc(s.found, func(d Diagnosis) bool { return (d.Level == General || d.Traceback) && !isWarningOfNCCL(d.Evidence) })
	}
	if slices.ContainsFunc(s.found, func(d Diagnosis) bool { return d.Traceback }) {
		return
	}
	s.found = append(s.found, Diagnosis{Failure: f, Text: s.text, Line: end + 1, Evidence: evidence(s.lines[end], 0), Count: 1})
}

// candidatesFor returns the entries of the catalogue that can apply to a text. An entry can apply if it lists the
// source of the text, and if one of its patterns may match the text. Each returned entry contains only the patterns
// that may match the text.
func candidatesFor(text Text) []Failure {
	var candidates []Failure
	lower := strings.ToLower(text.Message)
	g := newGrams(lower)
	for _, f := range catalogue() {
		if !slices.Contains(f.Sources, text.Source) {
			continue
		}
		var patterns []pattern
		for _, p := range f.patterns {
			if p, may := p.narrow(lower, g); may {
				patterns = append(patterns, p)
			}
		}
		if f.patterns = patterns; len(patterns) > 0 {
			candidates = append(candidates, f)
		}
	}
	return candidates
}

// lines returns a text as a list of lines. A carriage return also ends a line, because programs print a carriage
// return to overwrite a line that shows their progress.
func (t Text) lines() []string {
	return strings.Split(strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(t.Message), "\n")
}

// harmless is a regular expression for lines that look like error messages, although nothing has failed. These lines
// are not searched for failures.
var harmless = regexp.MustCompile(`\bulimit: |\(ignored\)|hostfile_replace_entries|add the host to the list of known|[Ii]gnoring corrupt|` +
	`SHMEM allocation limit|tail: inotify|Setting TMPDIR|an expected, transient error|\bmodule: command not found`)

// prompt is a regular expression for lines with a shell prompt and a command. In a log, these lines are not searched
// for failures, because they are not the output of a program.
var prompt = regexp.MustCompile(`^(\(\S+\) ?)?[\w.-]+@[\w.-]+:[^$#]*[$#] |^\$ `)

// warning is a regular expression for log lines of the levels INFO and WARNING, and for similar lines. The program that
// writes such a line continues to run after the line. The expression also matches warnings of NCCL, but most warnings
// of NCCL report failures. Therefore the function isWarning also checks that a line is not a warning of NCCL.
var warning = regexp.MustCompile(`Warning: |\bWARN(ING)?\b|\bINFO\b|^\[?[IW]\d{4}|^\[[IW] |^\S+ \S+: [IW] |\bwill be ignored\b`)

func isWarning(line string) bool { return warning.MatchString(line) && !isWarningOfNCCL(line) }

// warningOfNCCL matches the warnings of NCCL. Old versions of NCCL write "WARN" without "NCCL" before it.
var warningOfNCCL = regexp.MustCompile(`NCCL WARN|\.(h|cc|cu):\d+ WARN `)

// isWarningOfNCCL reports whether a line is a warning of NCCL. Such a warning can explain a
// failure, because in most cases an operation of NCCL fails after the warning.
func isWarningOfNCCL(line string) bool { return warningOfNCCL.MatchString(line) }

// firstMatch returns the failure that a line shows, and the position of the match in the line, in bytes. The levels
// from best to worst are Cause, General and Symptom. firstMatch determines the best level among the matching failures,
// and returns the first matching failure of this level. firstMatch returns an unknown Python exception only if no other
// failure matches. The returned failure is nil if no pattern matches the line.
func firstMatch(failures []Failure, line string) (best *Failure, at int) {
	lower := strings.ToLower(line)
	for i := range failures {
		f := &failures[i]
		if best != nil && !best.Traceback && (f.Traceback || levelOf(f) >= levelOf(best)) {
			continue
		}
		if match := f.find(line, lower); match >= 0 {
			best, at = f, match
		}
	}
	return best, at
}

// levelOf returns the position of a failure's level in the list "levels".
func levelOf(f *Failure) int { return slices.Index(levels, f.Level) }

// find returns the byte position at which a pattern of the failure matches the line, or -1 if no pattern matches. The
// argument "lower" is the whole line, converted to lower case.
func (f *Failure) find(line, lower string) int {
	for _, p := range f.patterns {
		if !p.mayMatch(lower) {
			continue
		}
		if match := p.expression().FindStringIndex(line); match != nil {
			return match[0]
		}
	}
	return -1
}

const (
	// maxEvidence is the maximum length of evidence, in characters. At most maxBefore characters of the evidence
	// come before the match.
	maxEvidence, maxBefore = 300, 100
	// maxContext limits the search for secrets in a line that matches a pattern of a failure. The search begins at most
	// maxContext bytes before the match, and ends at most maxContext bytes after the start of the match. Without a
	// limit, the search would be slow in a very long line.
	maxContext = 4096
)

// evidence returns the part of a line around a match, in a form that is safe to show. The argument "at" is the position of
// the match in bytes.
func evidence(line string, at int) string {
	before := []rune(sanitize.Text(line[max(0, at-maxContext):at]))
	if len(before) > maxBefore {
		before = append([]rune("…"), before[len(before)-maxBefore:]...)
	}
	return sanitize.Line(string(before)+line[at:min(len(line), at+maxContext)], maxEvidence)
}
