package site

import (
	"cmp"
	_ "embed" // the explanations
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"ninepocket/engine"
	"ninepocket/wire"
)

// errorHelp is the meaning of an error code, and its remedy for a developer.
type errorHelp struct{ Meaning, Remedy string }

//go:embed explanations.txt
var explanationText string

// explanations has the help for every error code of both surfaces. In the text, each code has three
// lines: the code, its meaning and its remedy.
var explanations = func() map[wire.Code]errorHelp {
	all := map[wire.Code]errorHelp{}
	for part := range strings.SplitSeq(strings.TrimSpace(explanationText), "\n\n") {
		lines := strings.Split(part, "\n")
		all[wire.Code(lines[0])] = errorHelp{Meaning: lines[1], Remedy: lines[2]}
	}
	return all
}()

// meaningOf returns the meaning of a code, and the surfaces that have it.
func meaningOf(code wire.Code) (meaning wire.Meaning, surfaces string, ok bool) {
	live, onLive := wire.LiveCodes[code]
	preview, onPreview := wire.PreviewCodes[code]
	switch {
	case onLive && onPreview:
		return live, "the live API, MCP and the preview contract", true
	case onLive:
		return live, "the live API and MCP", true
	}
	return preview, "the preview contract", onPreview
}

type errorPage struct {
	pageLayout
	errorHelp
	code, surfaces string
	status         int
}

// Error appends the page that explains a code; known is false if there is no such code. v may be
// nil.
func (p *Pages) Error(dst []byte, v *engine.View, now time.Time, code string) (page []byte, known bool) {
	meaning, surfaces, ok := meaningOf(wire.Code(code))
	if !ok {
		return dst, false
	}

	errorPage := errorPage{
		pageLayout: p.newLayout(v, now, meaning.Title, "The meaning of the error code "+code+", and its remedy."),
		code:       code, status: meaning.Status, surfaces: surfaces, errorHelp: explanations[wire.Code(code)],
	}
	errorPage.canonical = p.base + "/errors/" + code
	errorPage.old = false // the page has no prices
	return appendPage(dst, &errorPage), true
}

type errorsPage struct {
	pageLayout
	codes []wire.Code
}

// Errors appends the list of all codes. v may be nil.
func (p *Pages) Errors(dst []byte, v *engine.View, now time.Time) []byte {
	about := "Every error code of the API, with its meaning and its remedy."
	page := errorsPage{pageLayout: p.newLayout(v, now, "Error codes", about)}
	page.canonical = p.base + "/errors"

	// Sorted by status, because a developer sees that first.
	page.codes = slices.SortedFunc(maps.Keys(explanations), func(a, b wire.Code) int {
		first, _, _ := meaningOf(a)
		second, _, _ := meaningOf(b)
		return cmp.Or(cmp.Compare(first.Status, second.Status), cmp.Compare(a, b))
	})
	return appendPage(dst, &page)
}

// messagePage is an error page: its title is the heading, its description the text.
type messagePage struct{ pageLayout }

// errorResponses has the heading and the text of each error page.
var errorResponses = map[wire.Code][2]string{
	wire.NotFound: {
		"Page not found",
		"There is nothing at this address. A card may have left the catalog; the search finds what is there now.",
	},
	wire.RateLimitExceeded: {
		"Too many requests",
		"This address asks for pages faster than they are given out. Try again in {wait}. " +
			"Programs are better served by the API.",
	},
	wire.TemporarilyUnavailable: {"One moment", "No catalog is loaded yet. Try again in a few seconds."},
	wire.InternalError: {
		"Something went wrong", "The fault is on our side. Please quote {id} if you report it.",
	},
}

// ErrorResponse appends the error page for a code of errorResponses; id is that of the request. v
// may be nil.
func (p *Pages) ErrorResponse(dst []byte, v *engine.View, now time.Time, apiErr *wire.APIError, id string) []byte {
	message := errorResponses[apiErr.Code]
	words := strings.NewReplacer("{wait}", plural(apiErr.RetryAfter, "second", "seconds"), "{id}", strconv.Quote(id))

	// Only the page for 404 shows the date of the catalog.
	if apiErr.Code != wire.NotFound {
		v = nil
	}
	page := messagePage{p.newLayout(v, now, message[0], words.Replace(message[1]))}
	page.hidden = true
	return appendPage(dst, &page)
}
