package mcp

import (
	"strings"

	"ninepocket/index"
	"ninepocket/snapshot"
)

// remarkTexts are the kinds of remarks and their texts, which are layouts. A kind that is not here would have no text.
var remarkTexts = []struct{ kind, text string }{
	// How a query was read (docs/dev/SEARCH.md, How a query is explained).
	{"left_out", `"{words}" left out`},
	{"read_as", `"{words}" read as "{as}"`},
	{"other_name", `"{words}" is {as}`},
	{"not_found", `"{words}" not found`},
	{"set", `"{words}" is the set`},
	{"number", `"{words}" is the number`},
	{"preferred", `"{words}" preferred`},
	{"comes_near", `"{words}" or {as} preferred`},
	{"game", `"{words}" is the game`},
	{"sorted", `sorted by {as}`},
	{"bounded", `prices in cents[ from {words}][ to {as}]`},
	{"era", `"{words}" is the era {as}`},
	{"no_card", `"{words}" is no card, and the tools have no sealed products`},

	// Why a result is empty, and what exists.
	{"no_match", `no card has "{words}"; this catalog has single cards of {as} and nothing else`},
	{"no_set", `no set is called "{words}"`},
	{"no_series", `no series is called "{words}"`},
	{"no_rarity", `no card has the rarity "{words}"`},
	{"no_variant", `no variant "{words}" is tracked`},
	{"no_history", `no variant of this card is tracked`},
	{"number_range", `the numbers of {words} are {as}`},
	{"excluded_by", `without {words} there would be some`},
	{"no_earlier_price", `{words} has no price of {as} or the week before, so that none of its cards is compared`},
	{"none_moved", `no price is {words} that of {as}`},
	{"no_more", `this was the last page`},

	// Omissions of a result.
	{"no_price_in_window", `no prices in this window: {words}`},
	{"variants_left_out", `left out to stay within the points, cheapest first: {words}; ask for one with variant`},
	{"plan_limit", `your plan's history reaches back no further than {as} days`},
	{"fewer_candidates", `it was too long for all candidates: send the unresolved lines again in smaller calls`},
}

// interpretationKinds are the kinds of remarks for the notes of a search.
var interpretationKinds = [...]string{
	index.Dropped: "left_out", index.Replaced: "other_name", index.Corrected: "read_as", index.Missing: "not_found",
	index.MatchedSet: "set", index.MatchedNumber: "number", index.Preferred: "preferred", index.InGame: "game",
	index.Sorted: "sorted", index.Bounded: "bounded", index.InEra: "era", index.NoCard: "no_card",
}

// schemaRemarks is the schema of the member notes, which every tool's result may have.
func schemaRemarks() string {
	var kinds []string
	for _, r := range remarkTexts {
		kinds = append(kinds, r.kind)
	}
	return array(object("kind", oneOf(kinds...), "words?", schemaString, "as?", schemaString,
		"did_you_mean?", array(schemaString)))
}

// remark is a statement of a result about itself, an element of its member notes.
type remark struct {
	Kind       string   `json:"kind"`
	Words      string   `json:"words,omitempty"`
	As         string   `json:"as,omitempty"`
	DidYouMean []string `json:"did_you_mean,omitempty"`
}

// remarkLayouts are the layouts of the kinds of remarks.
var remarkLayouts = func() map[string]layout {
	all := map[string]layout{}
	for _, r := range remarkTexts {
		all[r.kind] = newLayout(r.text + `<+did_you_mean  (did you mean <did_you_mean", " "{.}">?)>`)
	}
	return all
}()

// remark adds a remark to the result. words and as may be ""; words from a caller must be readable.
func (out *result) remark(kind, words, as string, meant ...string) {
	out.remarks = append(out.remarks, remark{kind, words, as, meant})
}

// remarkInterpretation adds how the words of a query were read; without all, only the parts that do not
// depend on the first card.
func (out *result) remarkInterpretation(interpretation []index.Note, all bool) {
	for _, part := range interpretation {
		if !all && !part.Kind.IsOfQuery() {
			continue
		}
		kind := interpretationKinds[part.Kind]
		if part.Kind == index.Preferred && part.To != "" {
			kind = "comes_near"
		}
		out.remark(kind, readable(part.From), readable(part.To))
	}
}

// remarkSet adds the set that a misspelt name was taken for, or that no set has the name and the
// nearest names. It reports whether no set has the name.
func remarkSet(in *request, out *result, ref string) (unknown bool) {
	sets, corrected := in.View.Index.SetNames().ResolveFuzzy(ref)
	switch {
	case ref == "":
	case len(sets) == 0:
		out.remark("no_set", readable(ref), "", nearestSets(in, ref)...)
		return true
	case corrected:
		out.remark("read_as", readable(ref), in.View.Catalog.Sets.Name.At(int(sets[0])))
	}
	return false
}

// nearestSets returns the names of the sets with the most similar names.
func nearestSets(in *request, ref string) (names []string) {
	for _, set := range in.View.Index.SetNames().Nearest(ref) {
		names = append(names, in.View.Catalog.Sets.Name.At(int(set)))
	}
	return names
}

// nearestInWords asks in an error whether a set with a similar name is meant.
func nearestInWords(in *request, ref string) string {
	if names := nearestSets(in, ref); len(names) > 0 {
		return ` Did you mean "` + strings.Join(names, `", "`) + `"?`
	}
	return ""
}

// remarkUnknown adds that the value of a filter does not exist, and the nearest value. It returns
// false if the value exists, or none was requested.
func remarkUnknown(in *request, out *result, kind string, of index.Kind, value string) bool {
	if value == "" {
		return false
	}
	nearest, known := in.View.Index.HasValue(of, value)
	if known {
		return false
	}

	meant := []string{nearest}
	if nearest == "" {
		meant = nil
	}
	out.remark(kind, readable(value), "", meant...)
	return true
}

// remarkExcluding adds every filter whose removal would give results. found reports whether the
// remaining arguments give results.
func remarkExcluding(in *request, out *result, found func() bool, filters ...string) {
	for _, name := range filters {
		value := in.at(name)
		given := *value
		*value = argument{n: noDefault}
		if in.fields[in.indexOf(name)].kind == dateKind {
			value.n = int64(snapshot.NoDay)
		}

		if (given.given || given.n > 0) && found() {
			out.remark("excluded_by", name, "")
		}
		*value = given
	}
}
