package loader

import (
	"html"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"

	"ninepocket/loader/source"
	"ninepocket/snapshot"
)

// Bounds of text that the snapshot does not bound itself, in code points (docs/API.md, Identifier
// and Limits).
const (
	maxRef             = 200
	maxNamespace       = 100
	maxIdentifierValue = 200
	maxRarity          = 100
	maxCode            = 64
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

	// Only terminated entities count: "Tag&notit" holds none.
	if amp := strings.IndexByte(s, '&'); amp >= 0 && strings.IndexByte(s[amp:], ';') > 0 {
		s = html.UnescapeString(s)
	}

	// Composed, so that the same name is the same bytes whoever typed it.
	s = norm.NFC.String(s)
	var b strings.Builder
	space := false
	for _, r := range s {
		switch {
		case unicode.IsSpace(r):
			space = b.Len() > 0
		case unicode.In(r, unicode.Cc, unicode.Cf):
		default:
			if space {
				b.WriteByte(' ')
				space = false
			}
			b.WriteRune(r)
		}
	}

	return b.String(), true
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

// cleaner cleans the text of one record and notes what it refuses.
type cleaner struct {
	q    *quarantine
	at   source.At
	ref  string
	pool *pool
}

// text cleans text of at most bound code points; what is not clean or too long is quarantined.
func (c *cleaner) text(s string, bound int) (string, bool) {
	out, ok := cleanText(s)
	switch {
	case !ok:
		c.q.refuse(c.at, source.ReasonBadText, c.ref, strings.ToValidUTF8(s, "\uFFFD"))
		return "", false
	case len(out) > bound && utf8.RuneCountInString(out) > bound:
		c.q.refuse(c.at, source.ReasonTooLong, c.ref, out)
		return "", false
	}

	return out, true
}

// optional cleans text that a record can do without: what is refused is absent.
func (c *cleaner) optional(s string, bound int) string {
	out, _ := c.text(s, bound)
	return c.pool.of(out)
}

// name cleans a name, which a record cannot do without.
func (c *cleaner) name(s string) (string, bool) {
	out, ok := c.text(s, snapshot.MaxName)
	if ok && out == "" {
		c.q.refuse(c.at, source.ReasonMissingValue, c.ref, "name")
	}
	return strings.Clone(out), out != ""
}

// key accepts a reference: it is an identity and therefore never changed, only refused.
func (c *cleaner) key(s string) bool {
	n := utf8.RuneCountInString(s)
	switch {
	case s == "":
		c.q.refuse(c.at, source.ReasonMissingValue, c.ref, "ref")
	case n > maxRef:
		c.q.refuse(c.at, source.ReasonTooLong, c.ref, s)
	case !utf8.ValidString(s) || strings.ContainsFunc(s, unicode.IsControl):
		c.q.refuse(c.at, source.ReasonBadRef, c.ref, strings.ToValidUTF8(s, "\uFFFD"))
	default:
		return true
	}

	return false
}

// game looks a game up.
func (c *cleaner) game(slug string) (uint8, bool) {
	number, ok := gameNumber(slug)
	if !ok {
		c.q.refuse(c.at, source.ReasonBadGame, c.ref, slug)
	}

	return number, ok
}

// identifiers cleans a record's aliases, each once, in the record's order.
func (c *cleaner) identifiers(in []source.Identifier) []source.Identifier {
	var out []source.Identifier
	for _, id := range in {
		ns := c.optional(id.Namespace, maxNamespace)
		value := c.optional(id.Value, maxIdentifierValue)
		if ns == "" || value == "" {
			// What was too long or unclean is noted already.
			if id.Namespace == "" || id.Value == "" {
				c.q.refuse(c.at, source.ReasonBadIdentifier, c.ref, id.Namespace+":"+id.Value)
			}
			continue
		}

		out = addIdentifier(out, ns, value)
	}

	return out
}

// addIdentifier adds an alias unless the list has it.
func addIdentifier(list []source.Identifier, namespace, value string) []source.Identifier {
	id := source.Identifier{Namespace: namespace, Value: value}
	if slices.Contains(list, id) {
		return list
	}
	return append(list, id)
}

// pool keeps one copy of texts that repeat, so that records do not keep the documents alive that
// they were cut from.
type pool struct{ known map[string]string }

func (p *pool) of(s string) string {
	if s == "" {
		return ""
	}
	if have, ok := p.known[s]; ok {
		return have
	}

	s = strings.Clone(s)
	// Long texts hardly repeat: they are copied, and not remembered.
	if len(s) > 64 {
		return s
	}

	if p.known == nil {
		p.known = map[string]string{}
	}

	p.known[s] = s
	return s
}
