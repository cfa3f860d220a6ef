package api

import (
	"net/url"
	"strings"
	"unicode/utf8"

	"ninepocket/wire"
)

// PathID decodes the path's {id}; false for an id that decision 4 forbids. The id may alias the
// request.
func (r *Request) PathID() (string, bool) {
	ref := r.Ref
	if strings.IndexByte(ref, '%') >= 0 {
		// With an escaped slash two segments would be one, which proxies read differently (decision 4).
		var err error
		ref, err = url.PathUnescape(r.Ref)
		if err != nil || strings.Contains(strings.ToLower(r.Ref), "%2f") {
			return "", false
		}
	}

	if textProblem(ref) != "" {
		return "", false
	}
	return ref, int64(utf8.RuneCountInString(ref)) <= wire.RefText.Max
}

// Card finds the card that the path names by id, slug or former slug.
func (r *Request) Card() (int, bool) { return r.findByPath(r.View.Index.Card) }

// Set finds the set that the path names.
func (r *Request) Set() (int, bool) { return r.findByPath(r.View.Index.Set) }

// findByPath finds the record that the path names by id, slug or former slug.
func (r *Request) findByPath(find func(ref string) (int, bool)) (int, bool) {
	ref, ok := r.PathID()
	if !ok {
		return 0, false
	}
	return find(ref)
}

// card finds the card of the path, unless something is wrong with the request.
func (r *Request) card() (int, *wire.APIError) {
	if f := r.invalid(); f != nil {
		return 0, f
	}
	card, ok := r.Card()
	if ok {
		return card, nil
	}

	ref := r.shownID()
	if name, last, gone := r.View.Catalog.GoneCard(ref); gone {
		return 0, refuse(wire.NotFound, "card %s, %s, has left the catalog: it was there last on %s", QuoteInput(ref),
			QuoteInput(name), last)
	}
	advice := "find it with GET /v1/cards?q="
	if strings.Contains(ref, ":") {
		advice = "look an identifier up with GET /v1/cards?identifier="
	}
	return 0, refuse(wire.NotFound, "no card has the id or slug %s: %s", QuoteInput(ref), advice)
}

// shownID returns the path's {id} as a response shows it.
func (r *Request) shownID() string {
	if ref, ok := r.PathID(); ok {
		return ref
	}
	return r.Ref
}
