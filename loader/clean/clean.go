// Package clean makes the text of feeds fit to be shown, and gathers the refused values.
package clean

import (
	"bytes"
	"encoding/json"
	"html"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"

	"ninepocket/loader/source"
	"ninepocket/snapshot"
)

// cleanText is text as the catalog shows it (decision 25): HTML entities unescaped, composed (NFC),
// without control and formatting characters, trimmed, with single spaces. False means that it is
// not UTF-8.
func cleanText(s string) (string, bool) {
	if isPlain(s) {
		return s, true
	}
	if !utf8.ValidString(s) {
		return "", false
	}

	// Without a ";" behind its first "&" a text has no terminated entity: "Tag&notit".
	if amp := strings.IndexByte(s, '&'); amp >= 0 && strings.IndexByte(s[amp:], ';') > 0 {
		s = html.UnescapeString(s)
	}

	// Composed, so that the same name is the same bytes however it was typed.
	s = strings.Map(func(r rune) rune {
		if !unicode.IsSpace(r) && unicode.In(r, unicode.Cc, unicode.Cf) {
			return -1
		}
		return r
	}, norm.NFC.String(s))
	return strings.Join(strings.Fields(s), " "), true
}

// isPlain reports whether s is printable ASCII that cleaning would not change.
func isPlain(s string) bool {
	space := true // a leading space
	for i := range len(s) {
		switch c := s[i]; {
		case c == ' ' && space, c < ' ', c >= 0x7f, c == '&':
			return false
		default:
			space = c == ' '
		}
	}

	return len(s) == 0 || !space
}

// Record cleans the text of one record and notes refused values.
type Record struct {
	Into *Quarantine
	At   source.Location
	Ref  string
	Pool *Pool
}

// Refuse notes that a value of the record is refused.
func (c *Record) Refuse(reason, value string) { c.Into.Refuse(c.At, reason, c.Ref, value) }

// text cleans text of at most bound code points; unclean or longer text is quarantined.
func (c *Record) text(s string, bound int) (string, bool) {
	// Cleaning shortens a text by far less: megabytes are refused before they are worked on.
	if len(s) > maxRawFactor*bound {
		c.Refuse(source.ReasonTooLong, source.Clip(s, MaxValue))
		return "", false
	}

	out, ok := cleanText(s)
	switch {
	case !ok:
		c.Refuse(source.ReasonBadText, strings.ToValidUTF8(s, "\uFFFD"))
		return "", false
	case len(out) > bound && utf8.RuneCountInString(out) > bound:
		c.Refuse(source.ReasonTooLong, out)
		return "", false
	}

	return out, true
}

// maxRawFactor bounds a text before it is cleaned, in bytes for each code point that its bound allows:
// the longest HTML entity has 33.
const maxRawFactor = 64

// Optional cleans text that a record can do without: refused text is absent.
func (c *Record) Optional(s string, bound int) string {
	out, _ := c.text(s, bound)
	return c.Pool.Of(out)
}

// Unique is Optional for a text that hardly another record has.
func (c *Record) Unique(s string, bound int) string {
	out, _ := c.text(s, bound)
	return strings.Clone(out)
}

// Name cleans a name, which a record cannot do without.
func (c *Record) Name(s string) (string, bool) {
	out, ok := c.text(s, snapshot.MaxName)
	if ok && out == "" {
		c.Refuse(source.ReasonMissingValue, "name")
	}
	return strings.Clone(out), out != ""
}

// Key accepts a reference: it is an identity and therefore never changed, only refused.
func (c *Record) Key(s string) bool {
	n := utf8.RuneCountInString(s)
	switch {
	case s == "":
		c.Refuse(source.ReasonMissingValue, "ref")
	case n > source.MaxRef:
		c.Refuse(source.ReasonTooLong, s)
	case !utf8.ValidString(s) || strings.ContainsFunc(s, unicode.IsControl):
		c.Refuse(source.ReasonBadRef, strings.ToValidUTF8(s, "\uFFFD"))
	default:
		return true
	}

	return false
}

// Identifiers cleans a record's identifiers, each once, in the record's order.
func (c *Record) Identifiers(in []source.Identifier) []source.Identifier {
	var out []source.Identifier
	for _, id := range in {
		ns := c.Optional(id.Namespace, source.MaxNamespace)
		value := c.Unique(id.Value, source.MaxAlias)
		if ns == "" || value == "" {
			// Values that are too long or unclean are noted already.
			if id.Namespace == "" || id.Value == "" {
				c.Refuse(source.ReasonBadIdentifier, id.Namespace+":"+id.Value)
			}
			continue
		}

		out = AddIdentifier(out, ns, value)
	}

	return out
}

// AddIdentifier adds an alias unless the list has it.
func AddIdentifier(list []source.Identifier, namespace, value string) []source.Identifier {
	id := source.Identifier{Namespace: namespace, Value: value}
	if slices.Contains(list, id) {
		return list
	}
	return append(list, id)
}

// Pool keeps one copy of texts that repeat, so that records do not keep the documents alive that
// they were cut from.
type Pool struct{ known map[string]string }

// Of is the copy of a text.
func (p *Pool) Of(s string) string {
	if s == "" {
		return ""
	}
	if have, ok := p.known[s]; ok {
		return have
	}

	s = strings.Clone(s)
	// Long texts hardly repeat: they are copied, and not stored.
	if len(s) > 64 {
		return s
	}

	if p.known == nil {
		p.known = map[string]string{}
	}

	p.known[s] = s
	return s
}

// maxLines bounds the lines that are stored; all are counted.
const maxLines = 200_000

// MaxValue bounds each text of a line, in bytes: file, ref and offending value.
const MaxValue = 200

// Quarantine gathers the refused records (decision 26), a JSON object a line in the order of
// the input.
type Quarantine struct {
	Lines  bytes.Buffer
	Counts map[string]int // by reason
	Cut    int            // lines that were counted and not stored
	stored int
}

// quarantineLine is one line of the report.
type quarantineLine struct {
	Reason string `json:"reason"`
	File   string `json:"file"`
	Line   int    `json:"line"`
	Ref    string `json:"ref"`
	Value  string `json:"value"`
}

// Add notes a refused record, or a refused value of one.
func (q *Quarantine) Add(quarantine source.Quarantine) {
	if q.Counts == nil {
		q.Counts = map[string]int{}
	}

	q.Counts[quarantine.Reason]++
	if q.stored == maxLines {
		q.Cut++
		return
	}

	q.stored++
	enc := json.NewEncoder(&q.Lines)
	enc.SetEscapeHTML(false)
	// A struct of strings and a number cannot fail to encode, nor a buffer to take it.
	_ = enc.Encode(quarantineLine{
		Reason: quarantine.Reason, File: source.Clip(quarantine.At.File, MaxValue), Line: quarantine.At.Line,
		Ref: source.Clip(quarantine.Ref, MaxValue), Value: source.Clip(quarantine.Value, MaxValue),
	})
}

// Refuse notes a record, or a value of one, that the loader itself refuses.
func (q *Quarantine) Refuse(at source.Location, reason, ref, value string) {
	q.Add(source.Quarantine{At: at, Reason: reason, Ref: ref, Value: value})
}
