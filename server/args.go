package server

import (
	"slices"
	"strings"
	"unicode/utf8"
	"unsafe"

	"ninepocket/wire"
)

// maxUnknown is how many unknown parameters X-Ignored-Params names (decision 5).
const maxUnknown = 10

// arg is the value of a known query parameter.
type arg struct {
	name  string
	value string // aliases args.scratch
	given int    // how often
	bad   string // what is wrong with the encoding, "" for nothing
}

// args are a request's query parameters. Values live in scratch and die with the exchange.
type args struct {
	known   []arg
	unknown []string // percent-encoded, each once
	strange int      // unknown ones in all
	bad     bool     // some name or unknown value is not valid
	scratch []byte
}

func (a *args) reset() args { return args{known: a.known[:0], scratch: a.scratch[:0]} }

// parse reads a raw query string against the parameters that an operation knows. It never fails: what is wrong is
// noted for checkArgs.
func (a *args) parse(raw []byte, known []string) {
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
		if pair == "" {
			continue
		}
		name, value, _ := strings.Cut(pair, "=")
		decoded, ok := a.unescape(name)
		if at := a.find(decoded); ok && at != nil {
			at.given++
			if at.value, ok = a.unescape(value); !ok {
				at.bad = "has an invalid percent escape"
			} else {
				at.bad = textProblem(at.value)
			}
			continue
		}
		a.strange++
		a.bad = a.bad || !ok || !utf8.ValidString(decoded)
		if name := encodeName(decoded); name != "" && len(a.unknown) < maxUnknown && !slices.Contains(a.unknown, name) {
			a.unknown = append(a.unknown, name)
		}
	}
}

func (a *args) find(name string) *arg {
	for i := range a.known {
		if a.known[i].name == name {
			return &a.known[i]
		}
	}
	return nil
}

// unescape decodes %XX and + into scratch; false when an escape is not valid.
func (a *args) unescape(s string) (string, bool) {
	from := len(a.scratch)
	ok := true
	for i := 0; i < len(s); i++ {
		switch b := s[i]; b {
		case '+':
			a.scratch = append(a.scratch, ' ')
		case '%':
			if i+2 >= len(s) || !isHex(s[i+1]) || !isHex(s[i+2]) {
				ok = false
				a.scratch = append(a.scratch, b)
				continue
			}
			a.scratch = append(a.scratch, hexValue(s[i+1])<<4|hexValue(s[i+2]))
			i += 2
		default:
			a.scratch = append(a.scratch, b)
		}
	}
	out := a.scratch[from:]
	return unsafe.String(unsafe.SliceData(out), len(out)), ok
}

func isHex(b byte) bool {
	return '0' <= b && b <= '9' || 'a' <= b && b <= 'f' || 'A' <= b && b <= 'F'
}

func hexValue(b byte) byte {
	switch {
	case b <= '9':
		return b - '0'
	case b <= 'F':
		return b - 'A' + 10
	}
	return b - 'a' + 10
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
	var b strings.Builder
	for i := range min(len(name), longest) {
		c := name[i]
		if isWord(c) || c == '-' || c == '.' || c == '~' {
			b.WriteByte(c)
			continue
		}
		b.WriteByte('%')
		b.WriteByte("0123456789ABCDEF"[c>>4])
		b.WriteByte("0123456789ABCDEF"[c&15])
	}
	return b.String()
}

// maxProblems is how many problems a detail names: more than any operation has parameters. A body can be wrong in very
// many places, and an answer must not be larger than what it answers.
const maxProblems = 20

// problem notes what is wrong with the request; all of it is named in one detail (decision 5).
func (x *exchange) problem(text string) {
	if len(x.problems) == maxProblems {
		x.unnamed++
		return
	}
	x.problems = append(x.problems, text)
}

// invalid is the fault that names every problem noted, nil without one.
func (x *exchange) invalid() *wire.Fault {
	if len(x.problems) == 0 {
		return nil
	}
	detail := strings.Join(x.problems, "; ")
	if x.unnamed > 0 {
		detail += "; and " + decimal(int64(x.unnamed)) + " more"
	}
	return &wire.Fault{Code: wire.InvalidRequest, Detail: detail + "."}
}

// checkArgs notes repeated and badly encoded parameters, and unknown ones where the surface is strict.
func (x *exchange) checkArgs() {
	for i := range x.args.known {
		a := &x.args.known[i]
		if a.given > 1 {
			x.problem(a.name + " is given " + decimal(int64(a.given)) + " times")
		}
		if a.bad != "" {
			x.problem(a.name + " " + a.bad)
		}
	}
	if x.surface.strict && x.args.strange > 0 {
		x.problem("unknown query parameters: " + strings.Join(x.args.unknown, ", "))
	} else if x.args.bad {
		x.problem("the query string is not valid percent-encoded UTF-8")
	}
}

// given returns a parameter's value when it is there and sound.
func (x *exchange) given(name string) (string, bool) {
	a := x.args.find(name)
	if a == nil || a.given == 0 || a.bad != "" {
		return "", false
	}
	return a.value, true
}

// textArg reads a parameter of 1 to most characters, counted as code points after decoding (decision 5).
func (x *exchange) textArg(name string, most int) (string, bool) {
	v, ok := x.given(name)
	if !ok {
		return "", false
	}
	if n := utf8.RuneCountInString(v); n < 1 || n > most {
		x.problem(name + " must have 1 to " + decimal(int64(most)) + " characters, not " + decimal(int64(n)))
		return "", false
	}
	return v, true
}

// intArg reads a plain ASCII decimal between lo and hi, or returns absent.
func (x *exchange) intArg(name string, lo, hi, absent int64) int64 {
	v, ok := x.given(name)
	if !ok {
		return absent
	}
	n, ok := parseDecimal(v)
	if !ok || n < lo || n > hi {
		x.problem(name + " must be an integer from " + decimal(lo) + " to " + decimal(hi))
		return absent
	}
	return n
}

// parseDecimal reads ASCII digits: no sign, exponent, fraction or space (decision 5).
func parseDecimal(s string) (int64, bool) {
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
func (x *exchange) oneOf(name, absent string, values ...string) string {
	v, ok := x.given(name)
	if !ok {
		return absent
	}
	for _, allowed := range values {
		if v == allowed {
			return allowed
		}
	}
	x.problem(name + " must be one of " + strings.Join(values, ", "))
	return absent
}
