package check

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode"

	"cuelang.org/go/cue"

	"github.com/trainyard/trainyard/api/message"
	"github.com/trainyard/trainyard/generator/evaluate"
	"github.com/trainyard/trainyard/generator/internal/constraint"
	"github.com/trainyard/trainyard/generator/internal/document"
	"github.com/trainyard/trainyard/generator/internal/resources"
	"github.com/trainyard/trainyard/generator/internal/values"
	"github.com/trainyard/trainyard/generator/internal/wording"
	"github.com/trainyard/trainyard/generator/problem"
)

// respell reports each mistyped key, and replaces it with the key that the author probably meant. Without the replacement,
// the check would also report the intended key as missing. The map "corrected" contains the new keys. Their values are not
// checked, because the author may have meant another key.
func (c *checker) respell(schema cue.Value, n *document.Node, fields []cue.Value, path []string) (respelled *document.Node, corrected map[string]bool) {
	respelled, corrected = n, map[string]bool{}
	for i, f := range n.Fields {
		if fields[i].Exists() {
			continue
		}
		key := c.correctKey(schema, respelled, f.Key)
		if key == "" {
			continue
		}
		c.breaks(problem.UnknownKey, f.Position, values.Extend(path, f.Key), "%s", c.describeUnknown(schema, f.Key))
		respelled, corrected[key], fields[i] = respelled.Renamed(i, key), true, c.schemas.keysOf(schema).known[key]
		c.respelled[problem.Path(values.Extend(path, key))] = true
	}
	return respelled, corrected
}

// correctKey guesses which key of the schema the author meant by an unknown key. It ignores keys of the schema that the
// mapping already contains. An unknown key can be an alias, which stands for one or more keys of the schema. If the
// alias stands for one key, correctKey considers only this key. If the alias stands for several keys, correctKey
// returns "". If the unknown key is not an alias, it can be a correct key that the author wrote one level too high. For
// example, the author wrote "runtimes" at the top level instead of below "spec". If the schema defines the same key in
// a mapping directly below the mapping "n", the key is probably one level too high. In this case, correctKey returns
// "", because the place of the key is wrong, and not its spelling. For any other unknown key, correctKey searches the
// keys of the schema for likely corrections. If there is exactly one likely correction, correctKey returns this key.
// Otherwise, correctKey returns "".
func (c *checker) correctKey(schema cue.Value, n *document.Node, key string) string {
	var free []string
	for known := range c.schemas.keysOf(schema).known {
		if n.Get(known) == nil {
			free = append(free, known)
		}
	}
	slices.Sort(free)
	if meant := c.schemas.keysOf(schema).aliases[key]; len(meant) > 0 {
		if len(meant) == 1 && slices.Contains(free, meant[0]) {
			return meant[0]
		}
		return ""
	}
	if len(c.schemas.keysBelow(schema, key)) > 0 {
		return ""
	}
	return nearestKey(schema, key, free)
}

// nearestKey returns the known key that is most similar to an unknown key, or "" if no known key is
// similar.
func nearestKey(schema cue.Value, key string, known []string) string {
	nearest := wording.Nearest(key, known)
	if _, named := evaluate.Mark(schema, "keys"); named && nearest != "" && nearest[0] != key[0] { // gpu is probably not a misspelled cpu
		return ""
	}
	return nearest
}

// checkIdleNulls reports a problem for a null that removes nothing, if the key of the null is probably misspelled. A
// null removes nothing if the earlier layers do not contain its key. A key is probably misspelled if the schema does
// not contain the key, but contains a likely correction. Because of the wrong spelling, the key that the author wanted
// to remove stays in the document. For other nulls that remove nothing, the load stage reports only a note. If the rule
// of a problem is UnknownKey, the exported JSON Schema must find this problem too. But the JSON Schema cannot find a
// null that removes nothing. The reason is that the JSON Schema describes merged documents, which no longer contain
// such nulls. Therefore the problems that checkIdleNulls reports have the rule IdleNull, and not the rule UnknownKey.
func (c *checker) checkIdleNulls(schema cue.Value, n *document.Node, path []string) {
	nulls := n.IdleNulls()
	if len(nulls) == 0 {
		return
	}
	known := c.schemas.keysOf(schema)
	names := slices.Sorted(maps.Keys(known.known))
	for _, f := range nulls[:min(len(nulls), MaxKeys)] {
		if n.Get(f.Key) != nil || evaluate.Descend(schema, f.Key).Exists() {
			continue
		}
		if len(known.aliases[f.Key]) > 0 || nearestKey(schema, f.Key, names) != "" {
			c.breaks(problem.IdleNull, f.Position, values.Extend(path, f.Key), "%s", c.describeUnknown(schema, f.Key))
		}
	}
}

// describeUnknown returns the message about an unknown key. A key is unknown if the schema does not list the
// key, and the key matches no pattern of the schema.
func (c *checker) describeUnknown(schema cue.Value, key string) string {
	var known []string
	for fields := evaluate.Fields(schema); fields.Next(); {
		known = append(known, fields.Selector().Unquoted())
	}
	if meant := c.schemas.keysOf(schema).aliases[key]; len(meant) > 0 {
		return "unknown key: " + wording.Suggestion(meant)
	}
	if below := c.schemas.keysBelow(schema, key); len(below) == 1 {
		return "unknown key: " + wording.Suggestion(below)
	}
	keys, ok := evaluate.Mark(schema, "keys")
	if !ok {
		return wording.Choice("unknown key", key, known)
	}
	for _, prefix := range []string{"requests.", "limits."} { // prefixes of the names in a ResourceQuota
		if name, ok := strings.CutPrefix(key, prefix); ok && evaluate.Descend(schema, name).Exists() {
			return fmt.Sprintf("not allowed: the prefix %q belongs only to names in a ResourceQuota: %s", prefix, wording.Suggestion([]string{resources.Correct(name)}))
		}
	}
	form, _ := keys.String(0) // each attribute @keys begins with the name of a definition
	want := "invalid key: want " + strings.Join(append(wording.QuoteAll(known), constraint.Sentence(c.definitions.LookupPath(cue.MakePath(cue.Def(form))))), " or ")
	example, _ := keys.String(1)
	if nearest := nearestName(key, known, example); nearest != "" {
		want += fmt.Sprintf(": did you mean %s?", message.Quote(nearest))
	}
	return want + wording.Lookalike(key)
}

// nearestName returns the key that the author probably meant: a known key, or the argument "example". nearestName
// compares the argument "key" with all known keys. If the example has a domain, as in nvidia.com/gpu, nearestName also
// compares the argument "key" with the part after the domain. If this part is the most similar of all compared names,
// nearestName returns the whole example. For instance, if the argument "key" is gpus, the part gpu is most similar, so
// nearestName returns nvidia.com/gpu. If nothing is similar to the argument "key", nearestName returns "". If several
// names are equally similar, or if the most similar name begins with a different letter, nearestName returns "" too.
func nearestName(key string, known []string, example string) string {
	_, name, isDevice := strings.Cut(example, "/")
	if isDevice {
		known = append(slices.Clip(known), name)
	}
	switch nearest := wording.Nearest(key, known); {
	case nearest == "" || !strings.EqualFold(nearest[:1], key[:1]): // cpu is not a correction of gpu
		return ""
	case isDevice && nearest == name:
		return example
	default:
		return nearest
	}
}

// isOtherKind reports whether a document is an object of an unexpected kind, such as a Deployment. It returns
// false if the kind is only a misspelling of an expected kind. For an object of an unexpected kind, the check
// reports only the kind, and no other differences from the schema.
func (c *checker) isOtherKind(schema cue.Value, n *document.Node) bool {
	kind, own := n.Get("kind").AsString(), constraint.Of(c.schemas.keysOf(schema).known["kind"]).Strings()
	return kind != "" && !slices.Contains(own, kind) && wording.Nearest(kind, own) == ""
}

// correct returns a likely correction of a text, in YAML syntax. If there is no likely
// correction, the function returns "".
func correct(text string, want constraint.Constraint) string {
	if want.Kind == cue.BoolKind {
		return booleanWords[strings.ToLower(text)]
	}
	nearest := wording.Nearest(text, want.Strings())
	if nearest == "" || unicode.IsDigit(rune(nearest[0])) { // a version is never corrected: 2.4 is no misspelling of 2.3
		return ""
	}
	return message.Quote(nearest)
}

// booleanWords maps each word that YAML 1.1 reads as a boolean, such as yes or off, to "true" or "false".
var booleanWords = map[string]string{
	"y": "true", "yes": "true", "on": "true", "true": "true",
	"n": "false", "no": "false", "off": "false", "false": "false",
}
