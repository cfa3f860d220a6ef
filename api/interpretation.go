package api

import (
	"strings"

	"ninepocket/engine"
	"ninepocket/index"
)

// maxInterpretation bounds the X-Search-Interpretation header in bytes.
const maxInterpretation = 512

// interpretationTokens are the tokens of the header by kind of note.
var interpretationTokens = map[index.NoteKind]string{
	index.Dropped: "left-out", index.Replaced: "read-as", index.Corrected: "corrected", index.Missing: "missing",
	index.MatchedSet: "set", index.MatchedNumber: "number", index.Preferred: "preferred", index.InGame: "game",
	index.Sorted: "sorted", index.Bounded: "bounded", index.InEra: "era", index.NoCard: "no-card",
}

// interpret sets the X-Search-Interpretation header, which explains how the words of a query were
// interpreted. It also has the set that a misspelled name was taken for, or the nearest sets if
// none matches.
func (r *Request) interpret(out *Reply, q *index.Query, found *engine.SearchPage) {
	for _, remark := range found.Interpretation {
		from := remark.From
		to := remark.To
		switch {
		case q.Sort != index.Relevance && !remark.Kind.IsOfQuery():
			continue
		case remark.Kind == index.MatchedSet:
			to = r.View.Index.SetName(found.Cards[0])
		case remark.Kind == index.Replaced:
			from = strings.ToLower(from)
			to = strings.ToLower(to)
		}
		out.Interpretation = appendRemark(out.Interpretation, remark.Kind, from, to)
	}

	out.interpretSets(r.View, q.Set, r.View.Index.SetNames().ResolveFuzzy)
}

// interpretSets adds the sets that a misspelled name, "" for none, was taken for, or those with the
// names most similar to an unknown one.
func (out *Reply) interpretSets(v *engine.View, ref string, read func(ref string) (sets []uint32, corrected bool)) {
	if ref == "" {
		return
	}

	token := interpretationTokens[index.Corrected]
	sets, corrected := read(ref)
	switch {
	case len(sets) == 0:
		token = "nearest-set"
		sets = v.Index.SetNames().Nearest(ref)
	case !corrected:
		return
	}

	for _, set := range sets {
		out.Interpretation = appendToken(out.Interpretation, token, ref, v.Catalog.Sets.Name.At(int(set)))
	}
}

// appendRemark appends the member of a note.
func appendRemark(dst []byte, kind index.NoteKind, from, to string) []byte {
	token := interpretationTokens[kind]
	switch kind {
	case index.Sorted:
		return appendMember(dst, token, parameter{"by", to, false})
	case index.InEra:
		return appendMember(dst, token, parameter{"as", to, false})
	case index.Bounded:
		return appendMember(dst, token, parameter{"min", from, true}, parameter{"max", to, true})
	default:
		return appendToken(dst, token, from, to)
	}
}

// appendToken appends a token with the words, and what they were taken for.
func appendToken(dst []byte, kind, from, to string) []byte {
	return appendMember(dst, kind, parameter{"q", from, false}, parameter{"as", to, false})
}

// A parameter of a member is a string or an integer.
type parameter struct {
	name, value string
	integer     bool
}

// appendMember appends a member of an RFC 9651 list, without the parameters that are empty. A member
// that would make the header too long is dropped.
func appendMember(dst []byte, kind string, parameters ...parameter) []byte {
	begin := len(dst)
	if begin > 0 {
		dst = append(dst, ", "...)
	}

	dst = append(dst, kind...)
	for _, one := range parameters {
		switch {
		case one.value == "":
			continue
		case one.integer:
			dst = append(append(append(append(dst, ';'), one.name...), '='), one.value...)
		default:
			dst = appendQuoted(append(append(append(dst, ';'), one.name...), '='), one.value)
		}
	}

	if len(dst) > maxInterpretation {
		return dst[:begin]
	}
	return dst
}

// appendQuoted appends an RFC 9651 string; bytes that are not printable ASCII, and the percent
// sign, are percent-encoded.
func appendQuoted(dst []byte, text string) []byte {
	const hex = "0123456789ABCDEF"
	dst = append(dst, '"')
	for i := range len(text) {
		switch b := text[i]; {
		case b == '"' || b == '\\':
			dst = append(dst, '\\', b)
		case b < ' ' || b > '~' || b == '%':
			dst = append(dst, '%', hex[b>>4], hex[b&15])
		default:
			dst = append(dst, b)
		}
	}

	return append(dst, '"')
}
