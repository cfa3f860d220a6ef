package pokemontcg

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"unicode/utf8"

	"ninepocket/cardvocab"
)

// Bounds of a query: public programs send far less.
const (
	maxQuery  = 2000 // letters
	maxTerms  = 64
	maxDepth  = 16 // of parentheses
	maxStars  = 2  // in a word
	maxPhrase = 32 // words
)

// node is a part of a query: all or any of others, or a term.
type node struct {
	all, any []*node
	not      bool
	term     *term
}

// term is a condition on one field: adjacent words, or a range.
type term struct {
	field   string
	kind    kind
	words   []string // with stars
	whole   bool     // they are the whole value
	isRange bool
	low     float64
	high    float64
	// openLow and openHigh leave the ends of a range out.
	openLow, openHigh bool
}

// queryError is the fault of a query, and its place.
type queryError struct {
	at   int // in letters, from 1
	text string
}

func (e *queryError) Error() string {
	return fmt.Sprintf("q is wrong at character %d: %s", e.at, e.text)
}

// parser reads a query. Its methods panic with a *queryError, which parse returns.
type parser struct {
	q      string
	pos    int
	terms  int
	fields map[string]kind
	// priced reports whether a field is a price; nil where there are none.
	priced func(field string) bool
}

// parse reads a query over fields; nil for an empty one.
func parse(q string, fields map[string]kind, priced func(string) bool) (root *node, err error) {
	p := &parser{q: q, fields: fields, priced: priced}
	defer func() {
		if failed := recover(); failed != nil {
			wrong, expected := failed.(*queryError)
			if !expected {
				panic(failed)
			}
			err = wrong
		}
	}()

	if n := utf8.RuneCountInString(q); n > maxQuery {
		p.pos = len(q)
		p.fail("the query has %d characters, and %d are read", n, maxQuery)
	}
	p.space()
	if p.pos == len(p.q) {
		return nil, nil
	}
	root = p.either(0)
	if p.pos < len(p.q) {
		p.fail("this ) closes nothing")
	}
	return root, nil
}

func (p *parser) fail(format string, args ...any) { p.failAt(p.pos, format, args...) }

func (p *parser) failAt(pos int, format string, args ...any) {
	panic(&queryError{utf8.RuneCountInString(p.q[:pos]) + 1, fmt.Sprintf(format, args...)})
}

func (p *parser) space() {
	p.pos = len(p.q) - len(strings.TrimLeft(p.q[p.pos:], " \t\r\n"))
}

// next is the byte at the position, 0 at the end.
func (p *parser) next() byte {
	if p.pos < len(p.q) {
		return p.q[p.pos]
	}
	return 0
}

// takes reads a word such as OR, if it is there by itself.
func (p *parser) takes(word string) bool {
	rest, ok := strings.CutPrefix(p.q[p.pos:], word)
	if !ok || rest != "" && !strings.ContainsAny(rest[:1], " \t\r\n(") {
		return false
	}
	p.pos += len(word)
	p.space()
	return true
}

// either reads the parts joined by OR.
func (p *parser) either(depth int) *node {
	out := &node{any: []*node{p.both(depth)}}
	for p.takes("OR") {
		out.any = append(out.any, p.both(depth))
	}
	if len(out.any) == 1 {
		return out.any[0]
	}
	return out
}

// both reads terms side by side.
func (p *parser) both(depth int) *node {
	out := &node{}
	for {
		// OR ends the terms, and is read by the caller.
		begin := p.pos
		if p.next() == 0 || p.next() == ')' || p.takes("OR") {
			p.pos = begin
			if len(out.all) == 0 {
				p.fail("a condition is missing, such as name:charizard")
			}
			return out
		}

		// AND may stand between them, and says nothing.
		if !p.takes("AND") || len(out.all) == 0 {
			p.pos = begin
			out.all = append(out.all, p.single(depth))
			p.space()
		}
	}
}

// single reads a term or a group, which may be excluded.
func (p *parser) single(depth int) *node {
	not := false
	if p.next() == '-' {
		not = true
		p.pos++
	}
	if p.next() != '(' {
		return &node{not: not, term: p.term()}
	}

	begin := p.pos
	if depth == maxDepth {
		p.fail("parentheses are %d deep at most", maxDepth)
	}
	p.pos++
	p.space()
	group := p.either(depth + 1)
	if p.next() != ')' {
		p.failAt(begin, "this ( is not closed")
	}
	p.pos++
	return &node{not: not, all: []*node{group}}
}

// term reads field:value.
func (p *parser) term() *term {
	p.terms++
	if p.terms > maxTerms {
		p.fail("a query has %d conditions at most", maxTerms)
	}

	out := &term{}
	if p.next() == '!' {
		out.whole = true
		p.pos++
	}
	begin := p.pos
	size := strings.IndexAny(p.q[p.pos:], ": \t\r\n()\"")
	if size < 0 || p.q[p.pos+size] != ':' {
		p.fail("a word needs its field, as in name:charizard")
	}
	// The field is looked up before its value is read, because it decides which values are valid.
	out.field = p.q[p.pos : p.pos+size]
	p.pos += size + 1
	p.known(out, begin)

	switch p.next() {
	case '[', '{':
		p.readRange(out)
	case '"':
		p.words(out, p.quoted())
	case '(':
		p.fail("name the field inside of the parentheses, as in (%s:a OR %s:b)", out.field, out.field)
	default:
		size := strings.IndexAny(p.q[p.pos:], " \t\r\n()")
		if size < 0 {
			size = len(p.q) - p.pos
		}
		value := p.q[p.pos : p.pos+size]
		p.words(out, value)
		p.pos += size
	}
	return out
}

// known finds the kind of a field.
func (p *parser) known(out *term, begin int) {
	kind, known := p.fields[out.field]
	if !known && p.priced != nil && p.priced(out.field) {
		kind = number
		known = true
	}
	if known {
		out.kind = kind
		return
	}

	names := slices.Sorted(maps.Keys(p.fields))
	isBelow := func(name string) bool { return strings.HasPrefix(name, out.field+".") }
	if at := slices.IndexFunc(names, isBelow); at >= 0 {
		p.failAt(begin, "%q has members: name one of them, such as %s", out.field, names[at])
	}
	// A probable typing error gets an error with the nearest name.
	advice := ""
	if near := cardvocab.Nearest(out.field, slices.Values(names)); near != "" {
		advice = ": did you mean " + near + "?"
	}
	p.failAt(begin, "there is no field %q%s", out.field[:min(len(out.field), 60)], advice)
}

// quoted reads a text in quotes, in which a backslash stands before a quote.
func (p *parser) quoted() string {
	begin := p.pos
	var b strings.Builder
	for p.pos++; p.pos < len(p.q) && p.q[p.pos] != '"'; p.pos++ {
		if p.q[p.pos] == '\\' && p.pos+1 < len(p.q) {
			p.pos++
		}
		b.WriteByte(p.q[p.pos])
	}
	if p.pos >= len(p.q) {
		p.failAt(begin, "this quote is not closed")
	}
	p.pos++
	return b.String()
}

// words takes a value as words of its field.
func (p *parser) words(out *term, value string) {
	if _, known := p.fields[out.field]; !known {
		p.fail("a price needs a range, as in %s:[1 TO *]", out.field)
	}
	out.words = out.kind.split(value)
	if len(out.words) == 0 {
		p.fail("%s has no word to look for", out.field)
	}
	if len(out.words) > maxPhrase {
		p.fail("a phrase has %d words at most", maxPhrase)
	}

	// Each star makes a word stand for many.
	for i, word := range out.words {
		// Adjacent stars are one.
		for strings.Contains(word, "**") {
			word = strings.ReplaceAll(word, "**", "*")
		}
		out.words[i] = word
		if strings.Count(word, "*") > maxStars {
			p.fail("a word has %d stars at most", maxStars)
		}
	}
}

// readRange reads [a TO b], with { and } for ends that are left out.
func (p *parser) readRange(out *term) {
	begin := p.pos
	size := strings.IndexAny(p.q[begin:], "]}")
	if size < 0 {
		p.fail("this range is not closed")
	}
	text := p.q[begin+1 : begin+size]
	p.pos = begin + size + 1

	low, high, ok := strings.Cut(text, " TO ")
	if !ok || out.whole {
		p.failAt(begin, "a range is written [1 TO 10], with * for an open end")
	}
	if out.kind == words || out.kind == oneWord {
		p.failAt(begin, "%s has no numbers or dates to range over", out.field)
	}
	out.isRange = true
	out.openLow = p.q[begin] == '{'
	out.openHigh = p.q[begin+size] == '}'
	out.low = p.bound(out, strings.TrimSpace(low), math.Inf(-1), begin)
	out.high = p.bound(out, strings.TrimSpace(high), math.Inf(1), begin)
}

func (p *parser) bound(out *term, text string, open float64, begin int) float64 {
	if text == "*" {
		return open
	}
	n, ok := out.kind.numberOf(text)
	if !ok {
		want := "a number"
		if out.kind == date {
			want = "a date such as 2022/09/09"
		}
		p.failAt(begin, "%q is not %s", text[:min(len(text), 40)], want)
	}
	return n
}

// contains reports whether a number lies in the range.
func (t *term) contains(n float64) bool {
	return (n > t.low || n == t.low && !t.openLow) && (n < t.high || n == t.high && !t.openHigh)
}
