package mcp

import (
	"strconv"
	"strings"
	"unsafe"

	"ninepocket/internal/jsonwalk"
)

// A layout makes the text of a result from its JSON alone: every fact of the text is a member
// (decision 3701). It is text with these parts:
//
//	{path:verb}       the value of a member; see layoutWriter.value for the verbs
//	[…]               nothing, if a value in it is missing
//	<path …>          for an object, or for each element of a list
//	<path"separator" …>
//	<+path …>         if the member is there: neither empty nor zero nor false
//	<-path …>         if it is not
//
// A path has names with dots between them. It begins at the object or element around it, or with ^ at
// the whole result. "." is the element, and # its number.
type layout []layoutPart

type layoutPart struct {
	op   byte   // one of {[<+- or 0 for text
	text string // of a text; the verb of a value; the separator of a list
	path []string
	body layout
}

// newLayout parses a layout. It panics if a bracket is not closed: that is an error in a tool.
func newLayout(s string) layout {
	for _, pair := range []string{"{}", "[]", "<>"} {
		if strings.Count(s, pair[:1]) != strings.Count(s, pair[1:]) {
			panic("mcp: brackets of the layout " + s)
		}
	}

	parts, _ := parseLayout(s)
	return parts
}

// parseLayout parses a layout up to the bracket that ends it, and returns the rest.
func parseLayout(s string) (parts layout, rest string) {
	for s != "" {
		at := strings.IndexAny(s, "{[<]>")
		if at < 0 {
			at = len(s)
		}
		if at > 0 {
			parts = append(parts, layoutPart{text: s[:at]})
			s = s[at:]
			continue
		}

		part := layoutPart{op: s[0]}
		s = s[1:]
		path := ""
		switch part.op {
		case ']', '>':
			return parts, s
		case '{':
			path, s, _ = strings.Cut(s, "}")
			path, part.text, _ = strings.Cut(path, ":")
		case '<':
			if s[0] == '+' || s[0] == '-' {
				part.op = s[0]
				s = s[1:]
			}
			path = s[:strings.IndexAny(s, ` "`)]
			s = s[len(path):]
			if s[0] == '"' {
				part.text, s, _ = strings.Cut(s[1:], `"`)
			}
			part.body, s = parseLayout(s[1:])
		case '[':
			part.body, s = parseLayout(s)
		}

		part.path = strings.Split(path, ".")
		parts = append(parts, part)
	}
	return parts, ""
}

// layoutWriter writes texts, and reuses its memory.
type layoutWriter struct {
	text    []byte
	members []layoutMember // of the result, then of the objects around the present part
	answer  layoutObject
}

type layoutMember struct {
	name  string
	value jsonwalk.Value
}

// layoutObject is an object whose members are read once for all parts of a layout.
type layoutObject struct {
	value    jsonwalk.Value
	from, to int // in members
	number   int // of an element
}

// reset releases the result.
func (w *layoutWriter) reset() {
	clear(w.members[:cap(w.members)])
	*w = layoutWriter{text: w.text[:0], members: w.members[:0]}
}

// write writes the text of a result.
func (w *layoutWriter) write(parts layout, answer jsonwalk.Value) {
	w.answer = w.open(answer, 0)
	w.parts(parts, w.answer)
}

func (w *layoutWriter) open(value jsonwalk.Value, number int) layoutObject {
	from := len(w.members)
	for name, member := range value.Members() {
		w.members = append(w.members, layoutMember{name.Text(), member})
	}
	return layoutObject{value, from, len(w.members), number}
}

// parts writes parts of a layout with the values of an object, and reports whether all are there.
func (w *layoutWriter) parts(parts layout, around layoutObject) (complete bool) {
	complete = true

	for i := range parts {
		part := &parts[i]
		switch part.op {
		case 0:
			w.text = append(w.text, part.text...)
		case '{':
			complete = w.value(part, around) && complete
		case '[':
			begin := len(w.text)
			if !w.parts(part.body, around) {
				w.text = w.text[:begin]
			}
		case '<':
			w.each(part, w.find(part.path, around))
		default:
			if isEmpty(w.find(part.path, around)) == (part.op == '-') {
				complete = w.parts(part.body, around) && complete
			}
		}
	}
	return complete
}

func (w *layoutWriter) each(part *layoutPart, value jsonwalk.Value) {
	begin := len(w.members)
	if value.Kind() == '{' {
		w.parts(part.body, w.open(value, 0))
	}

	number := 0
	for element := range value.Elements() {
		if number > 0 {
			w.text = append(w.text, part.text...)
		}
		number++
		w.members = w.members[:begin]
		w.parts(part.body, w.open(element, number))
	}
	w.members = w.members[:begin]
}

// find returns the member at a path, nil if there is none.
func (w *layoutWriter) find(path []string, around layoutObject) (value jsonwalk.Value) {
	name, ofAnswer := strings.CutPrefix(path[0], "^")
	if ofAnswer {
		around = w.answer
	}
	if name == "" {
		return around.value
	}

	for _, member := range w.members[around.from:around.to] {
		if member.name == name {
			value = member.value
		}
	}
	for _, name := range path[1:] {
		value = value.Member(name)
	}
	return value
}

var answersInstant = []string{"^price_updated_at"}

func isEmpty(value jsonwalk.Value) bool {
	switch value.Kind() {
	case '[':
		return len(value) == len("[]")
	case '"':
		return len(value) == len(`""`)
	case 0, 'n', 'f':
		return true
	}
	return value.Kind() == '0' && value[0] == '0'
}

// value writes a value by the verb and reports whether the value exists. Without a verb the value is
// written unchanged, and an object by its name. A noun counts a list or a number; # counts without a noun.
func (w *layoutWriter) value(part *layoutPart, around layoutObject) bool {
	if part.path[0] == "#" {
		w.text = strconv.AppendInt(w.text, int64(around.number), 10)
		return true
	}

	value := w.find(part.path, around)
	begin := len(w.text)
	switch part.text {
	case "":
		w.text = append(w.text, textOf(value)...)
	case "$":
		w.text = appendMoney(w.text, intOf(value))
		return value != nil
	case "±$", "±%":
		w.text = appendSigned(w.text, value, part.text == "±$")
	case "date":
		w.text = append(w.text, dayOf(value)...)
	case "own date": // empty on the result's own day
		if day := dayOf(value); day != dayOf(w.find(answersInstant, around)) {
			w.text = append(w.text, day...)
		}
	case "remark":
		return w.parts(remarkLayouts[textOf(value.Member("kind"))], around)
	default:
		n := intOf(value)
		if value.Kind() == '[' {
			n = 0
			for range value.Elements() {
				n++
			}
		}
		w.text = appendCount(w.text, n, part.text)
		return n > 0
	}
	return len(w.text) > begin
}

// textOf returns a string, a number as it is written, or the name of an object; "" for no value.
func textOf(value jsonwalk.Value) string {
	switch value.Kind() {
	case '"':
		return value.Text()
	case '0':
		return unsafe.String(unsafe.SliceData(value), len(value))
	}
	if name := value.Member("name"); name != nil {
		return name.Text()
	}
	return ""
}

// intOf returns an integer, -1 for no value.
func intOf(value jsonwalk.Value) int64 {
	if value.Kind() != '0' {
		return -1
	}
	n, _ := strconv.ParseInt(string(value), 10, 64) // results have integers where integers are read
	return n
}

// dayOf returns the date of an instant, "" for none.
func dayOf(value jsonwalk.Value) string {
	at := textOf(value)
	return at[:min(len(at), len("2006-01-02"))]
}
