package api

import (
	"slices"
	"strings"
	"unicode/utf8"
	"unsafe"

	"ninepocket/wire"
)

// maxUnknown is how many unknown parameters X-Ignored-Params names (decision 5).
const maxUnknown = 10

// arg is a query parameter that the operation knows.
type arg struct {
	name  string
	value string // aliases Args.scratch
	given int    // how often
	bad   string // what is wrong with the encoding, "" for nothing
}

// Args are a request's query parameters. Values live in scratch memory and die with the request.
type Args struct {
	known   []arg
	unknown []string // percent-encoded, each once
	strange int      // unknown ones in all
	bad     bool     // some name or unknown value is not valid
	scratch []byte
}

func (a *Args) reset() Args { return Args{known: a.known[:0], scratch: a.scratch[:0]} }

// Parse reads a raw query string against the parameters that are known. It never fails: what is wrong is noted, and
// Request.ReadQuery tells it.
func (a *Args) Parse(raw []byte, known []string) {
	for _, name := range known {
		a.known = append(a.known, arg{name: name})
	}
	if need := len(raw); cap(a.scratch) < need {
		a.scratch = make([]byte, 0, need) // decoding never grows, so that values stay where they are
	}

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
	decoded, ok := a.unescape(name)

	if known := a.find(decoded); ok && known != nil {
		known.given++
		if known.value, ok = a.unescape(value); !ok {
			known.bad = "has an invalid percent escape"
		} else {
			known.bad = textProblem(known.value)
		}
		return
	}

	a.strange++
	a.bad = a.bad || !ok || !utf8.ValidString(decoded)
	if shown := encodeName(decoded); shown != "" && len(a.unknown) < maxUnknown && !slices.Contains(a.unknown, shown) {
		a.unknown = append(a.unknown, shown)
	}
}

func (a *Args) find(name string) *arg {
	for i := range a.known {
		if a.known[i].name == name {
			return &a.known[i]
		}
	}
	return nil
}

// Given returns a parameter's value when it is there and sound.
func (a *Args) Given(name string) (string, bool) {
	known := a.find(name)
	if known == nil || known.given == 0 || known.bad != "" {
		return "", false
	}
	return known.value, true
}

// Unknown are the parameters that the operation does not know, percent-encoded, ten at most.
func (a *Args) Unknown() []string { return a.unknown }

// unescape decodes %XX and + into scratch; false when an escape is not valid.
func (a *Args) unescape(s string) (string, bool) {
	from := len(a.scratch)
	ok := true

	for i := 0; i < len(s); i++ {
		switch b := s[i]; b {
		case '+':
			a.scratch = append(a.scratch, ' ')
		case '%':
			decoded, valid := unhex(s[i:])
			if !valid {
				ok = false
				a.scratch = append(a.scratch, b)
				continue
			}
			a.scratch = append(a.scratch, decoded)
			i += 2
		default:
			a.scratch = append(a.scratch, b)
		}
	}

	out := a.scratch[from:]
	return unsafe.String(unsafe.SliceData(out), len(out)), ok
}

// unhex decodes the escape %XX that s begins with.
func unhex(s string) (b byte, ok bool) {
	if len(s) < 3 {
		return 0, false
	}

	high, highOK := hexDigit(s[1])
	low, lowOK := hexDigit(s[2])
	return high<<4 | low, highOK && lowOK
}

func hexDigit(b byte) (value byte, ok bool) {
	switch {
	case '0' <= b && b <= '9':
		return b - '0', true
	case 'a' <= b && b <= 'f':
		return b - 'a' + 10, true
	case 'A' <= b && b <= 'F':
		return b - 'A' + 10, true
	}
	return 0, false
}

// textProblem is what decision 5 refuses in any text: bytes that are not UTF-8, NUL and other C0 controls.
func textProblem(s string) string {
	if !utf8.ValidString(s) {
		return "is not valid UTF-8"
	}
	for i := range len(s) {
		if s[i] < 0x20 || s[i] == 0x7f {
			return "has a control character"
		}
	}
	return ""
}

// encodeName percent-encodes a parameter's name for a header, cut to a readable length.
func encodeName(name string) string {
	const longest = 64
	return string(wire.AppendEscaped(nil, name[:min(len(name), longest)]))
}

// ReadQuery reads the query string and notes repeated and badly encoded parameters, and unknown ones where the
// surface is strict.
func (r *Request) ReadQuery(raw []byte) {
	a := &r.Args
	a.Parse(raw, r.Params)

	for i := range a.known {
		known := &a.known[i]
		if known.given > 1 {
			r.problem(known.name + " is given " + wire.Decimal(int64(known.given)) + " times")
		}
		if known.bad != "" {
			r.problem(known.name + " " + known.bad)
		}
	}

	if r.Strict && a.strange > 0 {
		r.problem("unknown query parameters: " + strings.Join(a.unknown, ", "))
	} else if a.bad {
		r.problem("the query string is not valid percent-encoded UTF-8")
	}
}

// textArg reads a parameter whose length, counted as code points after decoding, is within bounds (decision 5).
func (r *Request) textArg(name string, bounds wire.Range) (string, bool) {
	v, ok := r.Args.Given(name)
	if !ok {
		return "", false
	}

	if n := int64(utf8.RuneCountInString(v)); n < bounds.Min || n > bounds.Max {
		r.problem(name + " must have " + wire.Decimal(bounds.Min) + " to " + wire.Decimal(bounds.Max) +
			" characters, not " + wire.Decimal(n))
		return "", false
	}
	return v, true
}

// intArg reads a plain ASCII decimal within bounds, or returns absent.
func (r *Request) intArg(name string, bounds wire.Range, absent int64) int64 {
	v, ok := r.Args.Given(name)
	if !ok {
		return absent
	}

	n, ok := ParseDecimal(v)
	if !ok || n < bounds.Min || n > bounds.Max {
		r.problem(name + " must be an integer from " + wire.Decimal(bounds.Min) + " to " + wire.Decimal(bounds.Max))
		return absent
	}
	return n
}

// ParseDecimal reads ASCII digits: no sign, exponent, fraction or space (decision 5).
func ParseDecimal(s string) (int64, bool) {
	if s == "" || len(s) > 18 {
		return 0, false
	}

	var n int64
	for i := range len(s) {
		if s[i] < '0' || s[i] > '9' {
			return 0, false
		}
		n = n*10 + int64(s[i]-'0')
	}
	return n, true
}

// oneOf reads a parameter that must be one of values, or returns absent.
func (r *Request) oneOf(name, absent string, values ...string) string {
	v, ok := r.Args.Given(name)
	if !ok {
		return absent
	}

	for _, allowed := range values {
		if v == allowed {
			return allowed
		}
	}
	r.problem(name + " must be one of " + strings.Join(values, ", "))
	return absent
}
