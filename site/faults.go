package site

import (
	"cmp"
	_ "embed" // the explanations
	"slices"
	"strconv"
	"strings"
	"time"

	"ninepocket/engine"
	"ninepocket/wire"
)

// explanation says what an error code means and what a developer does about it.
type explanation struct{ Meaning, Remedy string }

//go:embed explanations.txt
var explanationText string

// explanations cover every code of both surfaces' tables. In the text, a code has a line of its own, then a line of
// meaning and a line of remedy.
var explanations = func() map[wire.Code]explanation {
	all := map[wire.Code]explanation{}
	for part := range strings.SplitSeq(strings.TrimSpace(explanationText), "\n\n") {
		lines := strings.Split(part, "\n")
		all[wire.Code(lines[0])] = explanation{Meaning: lines[1], Remedy: lines[2]}
	}
	return all
}()

// meaningOf is the meaning of a code, with the surfaces that have it.
func meaningOf(code wire.Code) (m wire.Meaning, surfaces string, ok bool) {
	live, onLive := wire.Live[code]
	preview, onPreview := wire.Preview[code]
	switch {
	case onLive && onPreview:
		return live, "the live API, MCP and the preview contract", true
	case onLive:
		return live, "the live API and MCP", true
	}
	return preview, "the preview contract", onPreview
}

// faultRow is a code in the list of all of them.
type faultRow struct {
	Href, Code, Title string
	Status            int
}

// errorPage is what the error template shows.
type errorPage struct {
	frame
	explanation
	Code, Heading, Surfaces string
	Status                  int
}

// Error appends the page that explains a code; false when there is no such code. v may be nil.
func (p *Pages) Error(dst []byte, v *engine.View, now time.Time, code string) (page []byte, known bool, err error) {
	m, surfaces, ok := meaningOf(wire.Code(code))
	if !ok {
		return dst, false, nil
	}

	e := errorPage{
		frame: p.frame(v, now, m.Title, "What the error code "+code+" means and what to do about it."),
		Code:  code, Heading: m.Title, Status: m.Status, Surfaces: surfaces, explanation: explanations[wire.Code(code)],
	}
	e.Canonical = p.base + "/errors/" + code
	page, err = p.render(dst, "error", &e)
	return page, true, err
}

// Errors appends the list of all codes. v may be nil.
func (p *Pages) Errors(dst []byte, v *engine.View, now time.Time) ([]byte, error) {
	e := struct {
		frame
		Codes []faultRow
	}{frame: p.frame(v, now, "Error codes", "Every error code of the API, with what it means and what to do.")}
	e.Canonical = p.base + "/errors"

	for code := range explanations {
		m, _, _ := meaningOf(code)
		e.Codes = append(e.Codes, faultRow{
			Href: p.root + "/errors/" + string(code), Code: string(code), Title: m.Title, Status: m.Status,
		})
	}
	// By status, because that is what a developer sees first.
	slices.SortFunc(e.Codes, func(a, b faultRow) int {
		return cmp.Or(cmp.Compare(a.Status, b.Status), cmp.Compare(a.Code, b.Code))
	})
	return p.render(dst, "errors", &e)
}

// messagePage is what the message template shows: a page that is not there, or not now.
type messagePage struct {
	frame
	Heading, Text string
}

func (p *Pages) message(dst []byte, v *engine.View, now time.Time, heading, text string) ([]byte, error) {
	m := messagePage{frame: p.frame(v, now, heading, text), Heading: heading, Text: text}
	m.Hidden = true
	return p.render(dst, "message", &m)
}

// NotFound appends the page of a path that has none. v may be nil.
func (p *Pages) NotFound(dst []byte, v *engine.View, now time.Time) ([]byte, error) {
	return p.message(dst, v, now, "Page not found",
		"There is nothing at this address. A card may have left the catalog; the search finds what is there now.")
}

// TooMany appends the page for an address that asks too often.
func (p *Pages) TooMany(dst []byte, v *engine.View, now time.Time, seconds int) ([]byte, error) {
	return p.message(dst, v, now, "Too many requests",
		"This address asks for pages faster than they are given out. Try again in "+
			counted(seconds, "second", "seconds")+". Programs are better served by the API.")
}

// Unavailable appends the page that stands for all others while no catalog is loaded.
func (p *Pages) Unavailable(dst []byte, now time.Time) ([]byte, error) {
	return p.message(dst, nil, now, "One moment", "No catalog is loaded yet. Try again in a few seconds.")
}

// Failed appends the page of a fault of our own; id is the request's.
func (p *Pages) Failed(dst []byte, now time.Time, id string) ([]byte, error) {
	return p.message(dst, nil, now, "Something went wrong",
		"The fault is on our side. Please quote "+strconv.Quote(id)+" if you report it.")
}
