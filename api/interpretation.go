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
}

// interpret sets the X-Search-Interpretation header, which explains how the words of a query were
// interpreted. It also has the set that a misspelled name was taken for, or the nearest sets if
// none matches.
func (r *Request) interpret(out *Reply, q *index.Query, found *engine.SearchPage) {
	if q.Sort == index.Relevance {
		for _, remark := range found.Interpretation {
			from := remark.From
			to := remark.To
			if remark.Kind == index.Replaced {
				from = strings.ToLower(from)
				to = strings.ToLower(to)
			}
			if remark.Kind == index.MatchedSet {
				to = r.View.Index.SetName(found.Cards[0])
			}
			out.Interpretation = appendToken(out.Interpretation, interpretationTokens[remark.Kind], from, to)
		}
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

// appendToken appends a member of an RFC 9651 list: a token with the words, and what they were
// taken for. A member that would make the header too long is dropped.
func appendToken(dst []byte, kind, from, to string) []byte {
	begin := len(dst)
	if begin > 0 {
		dst = append(dst, ", "...)
	}
	dst = append(dst, kind...)
	dst = appendQuoted(append(dst, ";q="...), from)
	if to != "" {
		dst = appendQuoted(append(dst, ";as="...), to)
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
