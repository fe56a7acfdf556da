package generator

import (
	"context"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/trainyard/trainyard"
	"github.com/trainyard/trainyard/api/message"
	"github.com/trainyard/trainyard/generator/problem"
)

// maxProblems is a limit for the test TestMutationsAreReported, which changes valid documents. After one change,
// trainyard may report problems at no more than maxProblems positions. In a longer list of problems, a user cannot find
// the mistake. The limit does not apply to a change that cuts off the end of the document. changeTimeout is far above
// the time that trainyard takes for a valid document.
const (
	mutationCount = 2000
	maxProblems   = 15
	changeTimeout = time.Minute
)

// mutant is a document with one change. The lists "at" and "words" contain the lines and words by which
// isReported recognizes a problem that refers to the change.
type mutant struct {
	lines []string // of the changed text
	at    []int    // numbers of the changed lines and of nearby lines that a problem may name, counted from 1
	words []string // old and new keys and values of the changed lines

	key     string   // the old name of the changed key
	renamed string   // the new name of a renamed key, or ""
	removed []string // the keys after the end of a truncated document
}

// After a change of one of these two kinds, isReported accepts problems at fewer positions than after other changes.
const (
	replaceValue = "replace a value"
	renameKey    = "rename a key"
)

// TestMutationsAreReported tries many random changes of valid documents, one change at a time. If a change causes
// problems, two conditions apply. First, the number of different positions of the problems must not exceed maxProblems.
// This condition does not apply to a change that cuts off the end of the document. Second, at least one problem must
// refer to the change (see isReported).
func TestMutationsAreReported(t *testing.T) {
	seed, tries := readSeed(t), mutationCount
	if testing.Short() {
		tries = mutationCount / 20
	}
	documents := rightDocuments(t)
	var shared sharedPool
	reported, change := 0, 0
	defer func() { // also runs if a helper calls t.Fatal
		if t.Failed() {
			t.Logf("TRAINYARD_SEED=%d, change %d", seed, change)
		}
	}()
	for i := range tries {
		change = i
		random := rand.New(rand.NewPCG(seed, uint64(i)))
		layers := slices.Clone(documents[pick(random, []int{50, 20, 5, 25})])
		which := random.IntN(len(layers))
		m, kind := mutate(random, string(layers[which].Text))
		layers[which].Text = []byte(strings.Join(m.lines, "\n"))
		if testing.Verbose() { // a panic of another goroutine ends the test before it can report the change
			t.Logf("TRAINYARD_SEED=%d, change %d", seed, i)
		}
		if problems := tryMutant(t, &shared, layers); len(problems) > 0 {
			reported++
			if n := countPositions(problems); n > maxProblems && kind != "truncate" { // the rest of a truncated document refers to many names that were cut off
				t.Errorf("one change causes problems at %d positions, want at most %d:\n%v", n, maxProblems, problems)
			}
			if !m.isReported(kind, layers[which].Name, problems) {
				t.Errorf("no problem refers to the change:\n%v", problems)
			}
		}
		if t.Failed() {
			t.Fatalf("TRAINYARD_SEED=%d, change %d: %s %v of %s:\n%s", seed, i, kind, m.at, layers[which].Name, numbered(m.lines))
		}
	}
	if reported < tries/2 {
		t.Errorf("only %d of %d changes were reported, want at least half: harmless changes test nothing", reported, tries)
	}
}

// countPositions counts the different positions of problems. Several problems can have the same position: if the
// allowed names differ between environments, one wrong reference causes several different messages.
func countPositions(problems problem.List) int {
	positions := map[problem.Position]bool{}
	for _, p := range problems {
		positions[p.Position] = true
	}
	return len(positions)
}

func readSeed(t *testing.T) uint64 {
	t.Helper()
	text := os.Getenv("TRAINYARD_SEED")
	if text == "" {
		return 1
	}
	seed, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return seed
}

func tryMutant(t *testing.T, shared *sharedPool, layers []Input) problem.List {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), changeTimeout)
	defer cancel()
	err := shared.generate(ctx, t, layers...)
	return wellFormed(t, err, layers...)
}

// rightDocuments returns four documents. Each of the first three documents is an example with one layer. The fourth
// document consists of the example "minimal" and a second layer.
func rightDocuments(t *testing.T) [][]Input {
	t.Helper()
	var all [][]Input
	for _, name := range []string{"minimal", "vanilla", "acme"} {
		text, err := fs.ReadFile(trainyard.Examples, "examples/"+name+"/platform.yaml")
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, []Input{{Name: name + ".yaml", Text: text}})
	}
	layer, err := os.ReadFile("../examples/layers/trainer-2.1.yaml")
	if err != nil {
		t.Fatal(err)
	}
	return append(all, []Input{all[0][0], {Name: "layer.yaml", Text: layer}})
}

func pick(random *rand.Rand, weights []int) int {
	total := 0
	for _, weight := range weights {
		total += weight
	}
	n := random.IntN(total)
	for i, weight := range weights {
		if n -= weight; n < 0 {
			return i
		}
	}
	return 0
}

// isReported reports whether one of the problems refers to the change. If a change replaces a value or renames a key,
// the resulting mistake is in the changed line. After such a change, at least one problem must be in the changed line,
// or in the line of the enclosing mapping or list. A problem at another position counts only in three cases. In the
// first case, isStopped accepts the problem. In the second case, the change replaces a value, and isCompared accepts
// the problem. In the third case, the change renames a key, and isReference accepts the problem. After a change of any
// other kind, isReported returns the result of isNamed. The field m.at lists the changed lines and some nearby lines.
// isNamed accepts each problem in one of these lines. It also accepts a problem in any other line if one of three
// conditions is met. First, the message of the problem names a line in m.at. Second, lostValue accepts the problem.
// Third, one of m.words is in the path of the problem, in its message or in the text of its line.
func (m mutant) isReported(kind, file string, problems problem.List) bool {
	isException := func(problem.Problem) bool { return false }
	switch kind {
	case replaceValue:
		isException = m.isCompared
	case renameKey:
		isException = m.isReference
	default:
		return m.isNamed(file, problems)
	}
	return slices.ContainsFunc(problems, func(p problem.Problem) bool {
		return p.File == file && slices.Contains(m.at, p.Line) || m.isStopped(file, p) || isException(p)
	})
}

// isStopped reports whether a problem is a syntax error that the parser finds only after the changed line. After a
// change such as an added bracket, the text up to the changed line can still be the beginning of a valid document. The
// parser then finds the error in a later line. isStopped searches the lines after the changed line for the first line
// that is neither empty nor a comment. isStopped accepts a syntax error in the found line. It accepts a syntax error in
// another line only if the message names the changed line, or the line of the enclosing mapping or list.
func (m mutant) isStopped(file string, p problem.Problem) bool {
	if p.File != file || p.Rule != problem.Syntax {
		return false
	}
	next := m.at[0] + 1
	for next < len(m.lines) && isComment(m.lines[next-1]) {
		next++
	}
	return p.Line == next || m.namesLine(p)
}

// isReference reports whether a problem is about a reference to the old name of a renamed entry. For example, a change
// renames a runtime, and a tenant still lists the old name. The renamed entry itself is valid, so the problem is not at
// this entry, but at the field that still has the old name. isReference searches the message for the suggested new name.
func (m mutant) isReference(p problem.Problem) bool {
	return m.renamed != "" && strings.Contains(p.Message, message.Quote(m.renamed))
}

// isCompared reports whether a problem names the changed key. If a rule compares the changed value with another value,
// the problem can be at the other value. For example, a rule compares numProcPerNode with launcher.resources.cpu.
func (m mutant) isCompared(p problem.Problem) bool {
	return regexp.MustCompile(`(^|[^\w-])` + regexp.QuoteMeta(m.key) + `($|[^\w-])`).MatchString(p.Message)
}

func (m mutant) namesLine(p problem.Problem) bool {
	return slices.ContainsFunc(m.at, func(at int) bool {
		return regexp.MustCompile(fmt.Sprintf(`line %d\b`, at)).MatchString(p.Message)
	})
}

func (m mutant) isNamed(file string, problems problem.List) bool {
	for _, p := range problems {
		if p.File == file && slices.Contains(m.at, p.Line) {
			return true
		}
		text := p.Path + " " + p.Message
		if p.File == file && p.Line <= len(m.lines) {
			text += " " + m.lines[p.Line-1]
		}
		for _, word := range m.words {
			if strings.Contains(text, word) {
				return true
			}
		}
		if m.namesLine(p) || m.lostValue(p) {
			return true
		}
	}
	return false
}

// lostValue reports whether a problem can be a consequence of a truncation. A truncation removes the end of a document.
// lostValue returns true if the removed text contains the last key of the problem's path. The following example is
// about the field spec.ceilings.maxNodes. This field contains the largest value that a runtime may set in
// limits.maxNodes. Suppose that spec contains a runtime with the value 50 in limits.maxNodes. Suppose also that an
// environment sets ceilings.maxNodes to 20, and changes the runtime's limits.maxNodes to 20. If the truncation removes
// only this change of limits.maxNodes, the value 50 applies to the environment. The value 50 is higher than the
// environment's ceiling of 20, so trainyard reports a problem.
func (m mutant) lostValue(p problem.Problem) bool {
	return slices.Contains(m.removed, p.Path[strings.LastIndex(p.Path, ".")+1:])
}

var (
	keyAndValue = regexp.MustCompile(`([A-Za-z0-9./-]+): *([^,{}\[\]#]+)?`)
	garbage     = []string{"[x]", "{a: b}", "true", "-1", "0", "null", `""`, "1e9", "*", "&", "@x", "é", "!!binary aGk=", "~", "x: y", "'", `"`, "[", "}", "#", "%", "\u202ex", "9999999999999999999999", ".nan", "0x1F", "017", "${X}", "{{ x }}"}
)

func mutate(random *rand.Rand, text string) (m mutant, kind string) {
	m.lines = strings.Split(text, "\n")
	line := 0
	for isComment(m.lines[line]) || !strings.Contains(m.lines[line], ":") {
		line = random.IntN(len(m.lines))
	}
	m.at = []int{line + 1, findParent(m.lines, line) + 1}
	pairs := keyAndValue.FindAllStringSubmatchIndex(m.lines[line], -1)
	pair := pairs[random.IntN(len(pairs))]
	key := m.lines[line][pair[2]:pair[3]]
	m.key = key
	// A change can alter the indentation of the changed line. The keys of this line or of the next line can then belong
	// to a different mapping. Therefore a problem may name any key in these two lines.
	for _, text := range m.lines[line:min(line+2, len(m.lines))] {
		for _, found := range keyAndValue.FindAllStringSubmatch(text, -1) {
			m.words = append(m.words, found[1])
		}
	}
	value := pair[4:6]
	if value[0] < 0 {
		value = []int{pair[1], pair[1]}
	} else {
		m.words = append(m.words, strings.TrimSpace(m.lines[line][value[0]:value[1]]))
	}
	kinds := []struct {
		name string
		run  func()
	}{
		{"delete the line", func() {
			m.lines = slices.Delete(m.lines, line, line+1)
			m.allowNeighbors(line)
		}},
		{"delete a key", func() {
			m.replace(line, pair[0], pair[1], "")
			m.allowNeighbors(line)
		}},
		{renameKey, func() {
			m.renamed = misspell(random, key)
			m.replace(line, pair[2], pair[3], m.renamed)
		}},
		{"duplicate the line", func() {
			m.lines = slices.Insert(m.lines, line, m.lines[line])
			m.at = append(m.at, line+2)
		}},
		{"duplicate a key", func() { m.replace(line, pair[0], pair[0], key+": x, ") }},
		{replaceValue, func() { m.replace(line, value[0], value[1], " "+garbage[random.IntN(len(garbage))]) }},
		{"swap two values", func() { m.swap(random, line, value) }},
		{"indent", func() { m.indent(line, strings.Repeat(" ", 1+random.IntN(3))) }},
		{"insert a tab", func() { m.indent(line, "\t") }},
		{"indent less", func() {
			m.lines[line] = strings.TrimPrefix(m.lines[line], " ")
			m.allowNeighbors(line)
		}},
		{"truncate", func() {
			for _, found := range keyAndValue.FindAllStringSubmatch(strings.Join(m.lines[line:], "\n"), -1) {
				m.removed = append(m.removed, found[1])
			}
			for _, gone := range m.lines[line+1:] { // other sections may refer to the removed sections of spec
				if part := keyAndValue.FindStringSubmatch(gone); part != nil && strings.HasPrefix(gone, "  "+part[1]) {
					m.words = append(m.words, part[1])
				}
			}
			m.lines = append(m.lines[:line], m.lines[line][:random.IntN(len(m.lines[line]))])
			m.at = append(m.at, line) // if the last line is now empty, the text ends at the line above
		}},
		{"delete a character", func() {
			at := random.IntN(len(m.lines[line]))
			m.replace(line, at, at+1, "")
			m.allowNeighbors(line)
		}},
		{"insert a character", func() {
			at := random.IntN(len(m.lines[line]))
			m.replace(line, at, at, string(`:{}[],"'-#&*!|>%@`[random.IntN(17)]))
			m.allowNeighbors(line)
		}},
	}
	chosen := kinds[random.IntN(len(kinds))]
	chosen.run()
	return m, chosen.name
}

func (m *mutant) replace(line, from, to int, by string) {
	text := m.lines[line]
	m.lines[line] = text[:from] + by + text[to:]
	if by = strings.TrimSpace(by); len(by) > 2 {
		m.words = append(m.words, by)
	}
}

// allowNeighbors makes isReported also accept problems in the lines before and after the changed line. allowNeighbors
// is called for some changes, such as a change of the indentation. After such a change, the mistake can be in the
// changed line, in the previous line or in the next line.
func (m *mutant) allowNeighbors(line int) { m.at = append(m.at, line, line+2) }

func (m *mutant) indent(line int, by string) {
	m.lines[line] = by + m.lines[line]
	m.allowNeighbors(line)
}

func (m *mutant) swap(random *rand.Rand, line int, value []int) {
	other := random.IntN(len(m.lines))
	found := keyAndValue.FindStringSubmatchIndex(m.lines[other])
	if other == line || found == nil || found[4] < 0 {
		return
	}
	here, there := m.lines[line][value[0]:value[1]], m.lines[other][found[4]:found[5]]
	m.replace(line, value[0], value[1], there)
	m.replace(other, found[4], found[5], here)
	m.at = append(m.at, other+1, findParent(m.lines, other)+1)
	m.words = append(m.words, m.lines[other][found[2]:found[3]])
}

func misspell(random *rand.Rand, word string) string {
	at := random.IntN(len(word))
	switch random.IntN(3) {
	case 0:
		return word[:at] + word[at+1:]
	case 1:
		return word[:at] + "z" + word[at:]
	}
	return word[:at] + strings.ToUpper(word[at:])
}

// findParent searches above the given line for the nearest line with less indentation. It returns the index of the
// found line, or 0 if there is no such line.
func findParent(lines []string, line int) int {
	indent := func(text string) int { return len(text) - len(strings.TrimLeft(text, " ")) }
	for above := line - 1; above >= 0; above-- {
		if !isComment(lines[above]) && indent(lines[above]) < indent(lines[line]) {
			return above
		}
	}
	return 0
}

func isComment(line string) bool {
	text := strings.TrimSpace(line)
	return text == "" || text[0] == '#'
}

func numbered(lines []string) string {
	var b strings.Builder
	for i, line := range lines {
		fmt.Fprintf(&b, "%3d %s\n", i+1, line)
	}
	return b.String()
}
