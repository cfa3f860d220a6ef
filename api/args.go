package api

import (
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
	"unsafe"

	"ninepocket/snapshot"
	"ninepocket/wire"
)

// maxUnknown is how many unknown parameters X-Ignored-Params names at most (decision 5).
const maxUnknown = 10

// arg is a query parameter that the operation knows.
type arg struct {
	name   string
	value  string
	count  int    // how often
	reason string // what is wrong with it, "" for nothing
}

// Args are a request's query parameters. Values alias the query and are valid as long as the
// request.
type Args struct {
	known        []arg
	unknown      []string // percent-encoded, each once
	unknownCount int      // how many are unknown, also those that are not named
	bad          bool     // some name or unknown value is not valid
}

// Parse reads a raw query string against the known parameters. It never fails: it records problems,
// which Request.ReadQuery reports.
func (a *Args) Parse(raw []byte, known []string) {
	for _, name := range known {
		a.known = append(a.known, arg{name: name})
	}

	// The string is valid as long as the request's memory.
	query := unsafe.String(unsafe.SliceData(raw), len(raw))
	for query != "" {
		var pair string
		pair, query, _ = strings.Cut(query, "&")
		if pair != "" {
			a.take(pair)
		}
	}
}

// take reads one name=value.
func (a *Args) take(pair string) {
	name, value, _ := strings.Cut(pair, "=")
	decoded, err := url.QueryUnescape(name)
	if err != nil {
		decoded = name // errors name it as sent
	}

	if known := a.find(decoded); err == nil && known != nil {
		known.count++
		known.value, err = url.QueryUnescape(value)
		if err != nil {
			known.reason = "has an invalid percent escape: write a percent sign as %25"
		} else {
			known.reason = textProblem(known.value)
		}
		return
	}

	// Names appear in a header, so they are few, short, and each once.
	a.unknownCount++
	a.bad = a.bad || err != nil || !utf8.ValidString(decoded)
	if shown := encodeName(decoded); shown != "" && len(a.unknown) < maxUnknown && !slices.Contains(a.unknown, shown) {
		a.unknown = append(a.unknown, shown)
	}
}

func (a *Args) find(name string) *arg {
	if i := slices.IndexFunc(a.known, func(known arg) bool { return known.name == name }); i >= 0 {
		return &a.known[i]
	}
	return nil
}

// Given returns a parameter's value if it is present and valid.
func (a *Args) Given(name string) (string, bool) {
	known := a.find(name)
	if known == nil || known.count == 0 || known.reason != "" {
		return "", false
	}
	return known.value, true
}

// Unknown returns the unknown parameters, percent-encoded, ten at most.
func (a *Args) Unknown() []string { return a.unknown }

// mistyped explains in which other case a missing parameter was sent, "" if it was not.
func (a *Args) mistyped(name string) string {
	for _, unknown := range a.unknown {
		if strings.EqualFold(unknown, name) {
			return " (got " + QuoteInput(unknown) + ", and names are in lower case)"
		}
	}
	return ""
}

// require records a problem if a parameter is not in the query.
func (r *Request) require(name, advice string) {
	if r.Args.find(name).count == 0 {
		r.problem("%s is required%s: %s", name, r.Args.mistyped(name), advice)
	}
}

// textProblem explains what decision 5 forbids in a text: invalid UTF-8, NUL and other C0 controls.
func textProblem(s string) string {
	var all byte
	for i := range len(s) {
		if s[i] < 0x20 || s[i] == 0x7f {
			return "has a control character: leave it out"
		}
		all |= s[i]
	}
	if all >= utf8.RuneSelf && !utf8.ValidString(s) {
		return "is not valid UTF-8: percent-encode text as UTF-8"
	}
	return ""
}

// encodeName percent-encodes a parameter's name for a header, cut to a readable length.
func encodeName(name string) string {
	const maxBytes = 64
	return string(wire.AppendEscaped(nil, name[:min(len(name), maxBytes)]))
}

// ReadQuery reads the query string and records repeated and badly encoded parameters, and unknown
// ones if the surface is strict.
func (r *Request) ReadQuery(raw []byte) {
	a := &r.Args
	a.Parse(raw, r.Op.Params)

	for i := range a.known {
		known := &a.known[i]
		if known.count > 1 {
			r.problem("%s is given %d times: give it once", known.name, known.count)
		}
		if known.reason != "" {
			r.problem("%s %s", known.name, known.reason)
		}
	}

	// Unknown parameters are an error or ignored, but no surface accepts invalid bytes.
	if r.Strict && a.unknownCount > 0 {
		r.reportUnknownParams()
	} else if a.bad {
		r.problem("the query string is not valid percent-encoded UTF-8")
	}
}

// reportUnknownParams records a problem for the unknown parameters.
func (r *Request) reportUnknownParams() {
	named := make([]string, 0, maxUnknown)
	for _, name := range r.Args.unknown {
		named = append(named, QuoteInput(name))
	}

	format := "the query has the unknown parameters %s: leave them out (this operation takes %s)"
	if len(named) < 2 {
		format = "the query has the unknown parameter %s: leave it out (this operation takes %s)"
	}
	r.problem(format, strings.Join(named, ", "), joinNames(r.Op.Params))
}

// joinNames joins names for a sentence.
func joinNames(names []string) string {
	if len(names) == 0 {
		return "none"
	}
	return strings.Join(names, ", ")
}

// textArg reads a parameter whose length, counted in code points after decoding, must be within
// bounds (decision 5).
func (r *Request) textArg(name string, bounds wire.Range) (string, bool) {
	v, ok := r.Args.Given(name)
	if !ok {
		return "", false
	}

	n := int64(utf8.RuneCountInString(v))
	advice := ""
	switch {
	case bounds.Has(n):
		return v, true
	case n == 0 && name == "cursor":
		advice = ": leave it out for the first page"
	case n == 0:
		advice = ": leave it out for any"
	}
	r.problem("%s must have between %d and %d characters (got %d)%s", name, bounds.Min, bounds.Max, n, advice)
	return "", false
}

// wordsArg is textArg for search words: spaces alone are none (decision 5).
func (r *Request) wordsArg(name string, bounds wire.Range) (string, bool) {
	v, ok := r.textArg(name, bounds)
	if ok && strings.TrimSpace(v) == "" {
		r.problem("%s must not be blank: give a word, or leave %s out", name, name)
	}
	return v, ok
}

// intArg reads a plain ASCII decimal within bounds; absent is the default.
func (r *Request) intArg(name string, bounds wire.Range, absent int64) int64 {
	v, ok := r.Args.Given(name)
	if !ok {
		return absent
	}

	n, ok := ParseDecimal(v)
	switch {
	case !ok:
		r.problem("%s must be a whole number between %d and %d (got %s)", name, bounds.Min, bounds.Max, QuoteInput(v))
		return absent
	case !bounds.Has(n):
		r.problem("%s must be between %d and %d (got %d)", name, bounds.Min, bounds.Max, n)
		return absent
	}
	return n
}

// ParseDecimal reads ASCII digits: no sign, exponent, fraction or space (decision 5).
func ParseDecimal(s string) (int64, bool) {
	if len(s) > 18 || !allDigits(s) {
		return 0, false
	}
	n, err := strconv.ParseInt(s, 10, 64)
	return n, err == nil
}

// oneOf reads a parameter that must be one of values; absent is the default.
func (r *Request) oneOf(name, absent string, values ...string) string {
	v, ok := r.Args.Given(name)
	if !ok {
		return absent
	}

	if i := slices.Index(values, v); i >= 0 {
		return values[i]
	}
	r.problem("%s must be one of %s (got %s)", name, strings.Join(values, ", "), QuoteInput(v))
	return absent
}

// dayArg reads a date; the default is NoDay.
func (r *Request) dayArg(name string) snapshot.Day {
	v, ok := r.Args.Given(name)
	if !ok {
		return snapshot.NoDay
	}

	day, err := snapshot.ParseDay(v)
	if err != nil {
		r.problem("%s must be a date YYYY-MM-DD, such as 2026-11-20 (got %s)", name, QuoteInput(v))
		return snapshot.NoDay
	}
	return day
}

// instantArg reads an instant in ms; the default is NoTime.
func (r *Request) instantArg(name string) int64 {
	v, ok := r.Args.Given(name)
	if !ok {
		return snapshot.NoTime
	}

	at, err := parseInstant(v)
	if err == nil {
		return at.UnixMilli()
	}

	// In a query a plus sign that is not escaped is a space.
	if _, err := parseInstant(strings.ReplaceAll(v, " ", "+")); err == nil {
		r.problem("%s has a space where its offset begins (got %s): write a plus sign as %%2B", name, QuoteInput(v))
	} else {
		r.problem("%s must be a date and time of RFC 3339, such as 2026-11-20T20:05:00Z (got %s)", name, QuoteInput(v))
	}
	return snapshot.NoTime
}

// parseInstant reads a date and time of RFC 3339, also with lower-case letters.
func parseInstant(v string) (time.Time, error) { return time.Parse(time.RFC3339, strings.ToUpper(v)) }

// identifierArg reads an identifier; the default is "".
func (r *Request) identifierArg() string {
	v, ok := r.Args.Given("identifier")
	if !ok {
		return ""
	}

	namespace, value, _ := strings.Cut(v, ":")
	if namespace == "" || value == "" || !wire.IdentifierText.Has(int64(utf8.RuneCountInString(v))) {
		r.problem("identifier must be NAMESPACE:VALUE, such as tcgplayer:42382 (got %s)", QuoteInput(v))
		return ""
	}
	return v
}
