package site

import (
	"cmp"
	"slices"
	"strconv"
	"time"

	"ninepocket/engine"
	"ninepocket/wire"
)

// explanation says what an error code means and what a developer does about it.
type explanation struct{ Meaning, Remedy string }

// explanations cover every code of both surfaces' tables.
var explanations = map[wire.Code]explanation{
	wire.InvalidRequest: {
		"A parameter, header or body breaks a rule of the API. The detail names every problem of the request at once.",
		"Compare the request with the reference, mend all that the detail names, and send it again. The same request will fail again.",
	},
	wire.Unauthorized: {
		"The request has no API key, or one that does not open the live surface: misspelt, revoked, expired, or of another kind.",
		"Send one live key, as Authorization: Bearer or as X-API-Key. Two different keys in one request are refused, and keys in the address are never read.",
	},
	wire.InvalidAPIKey: {
		"The request has no preview key, or one that is not valid, revoked or expired.",
		"Send a preview key as X-API-Key. The preview contract does not take Authorization: Bearer.",
	},
	wire.SandboxKey: {
		"The key is a good sandbox key, and this service answers live keys alone.",
		"Use a live key. If you have none, ask the operator of the service for one.",
	},
	wire.PlanLimit: {
		"The request is well formed, but asks for more than the key's plan includes: a larger batch, or statistics of a longer window.",
		"Ask for less, as the detail says, or change the plan.",
	},
	wire.InsufficientScope: {
		"The key is good but may not do this: it lacks the operation's scope, or is of the live surface.",
		"Use a preview key with the scope that the detail names.",
	},
	wire.NotFound: {
		"There is nothing at this path, or no card, set or product with this id or slug.",
		"Check the spelling. Ids never change; a card that left the catalog is not found any more. Search finds the card anew.",
	},
	wire.MethodNotAllowed: {
		"The path exists, but does not take this method.",
		"Use a method that the Allow header names.",
	},
	wire.RequestTimeout: {
		"The request did not arrive whole within the time that the server waits.",
		"Send it again, on a new connection.",
	},
	wire.IdempotencyConflict: {
		"The idempotency key was used within the last ten minutes, with a different body.",
		"Use a new key for a new request, and the same key only to repeat the same one.",
	},
	wire.PayloadTooLarge: {
		"The request's body is larger than 256 KiB.",
		"Split the request into several: a batch takes 100 prices or 200 cards at most.",
	},
	wire.UnsupportedMediaType: {
		"The body is not JSON, or is compressed.",
		"Send Content-Type: application/json and no Content-Encoding.",
	},
	wire.HostNotAllowed: {
		"The Host header of a call to the MCP endpoint is not one that this service answers to. The check protects programs on your own machine from web pages.",
		"Call the address that the operator gave. An operator adds names with mcp.allowed_hosts.",
	},
	wire.OriginNotAllowed: {
		"A web page of another origin called the MCP endpoint from a browser.",
		"Call from a program instead of a page. An operator adds origins with mcp.allowed_origins.",
	},
	wire.NotAcceptable: {
		"The Accept header of a call to the MCP endpoint leaves out both forms that an answer may have.",
		"Send Accept: application/json, text/event-stream.",
	},
	wire.HeadersTooLarge: {
		"The request line and headers together are larger than 16 KiB.",
		"Send fewer or shorter headers, and long lists of ids in the body of a batch.",
	},
	wire.RateLimitExceeded: {
		"More requests than the plan's limit within 60 seconds. Refused requests cost nothing.",
		"Wait as many seconds as Retry-After says. The RateLimit headers of every answer tell how many requests are left.",
	},
	wire.QuotaExceeded: {
		"The day's requests, or the period's credits, are used up.",
		"Wait until Retry-After: days and periods begin at 00:00 UTC. Conditional requests that are answered with 304 take nothing from the quota.",
	},
	wire.InternalError: {
		"Something went wrong on our side. Nothing was charged.",
		"Try again. If it stays, tell the operator the request_id of the answer.",
	},
	wire.TemporarilyUnavailable: {
		"The service cannot answer at the moment: no catalog is loaded yet, or calls cannot be metered. Nothing was charged.",
		"Try again after Retry-After.",
	},
}

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
		"This address asks for pages faster than they are given out. Try again in "+counted(seconds, "second", "seconds")+
			". Programs are better served by the API.")
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
