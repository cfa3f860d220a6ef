package mcp

import (
	"strconv"

	"ninepocket/wire"
)

// fieldKind is what an argument holds.
type fieldKind uint8

const (
	aText     fieldKind = iota // a string of lo to hi characters
	anInteger                  // a number of lo to hi
	aChoice                    // one of choices
	aList                      // an array of lo to hi objects
)

// field is an argument of a tool: the one row from which its JSON Schema is rendered and by which it is bound.
type field struct {
	name, about string
	kind        fieldKind
	lo, hi      int64
	choices     []string
	required    bool
	// preset is what an absent argument means: the default of the schema, unless it is -1 for none. Only integers
	// and choices have one; of a choice it is the index.
	preset int64
	of     []field // the members of a list's objects
}

// none is the preset of an argument without a default.
const none = -1

// Fields that several tools share.
var (
	gameField = field{name: "game", about: "Only this game.", kind: aChoice, choices: []string{"pokemon", "one-piece"}, preset: none}

	cursorField = field{
		name: "cursor", about: "next_cursor of the previous page, unchanged. Valid 15 minutes, with the same other arguments.",
		kind: aText, lo: 1, hi: 512,
	}
	formatField = field{
		name: "response_format", about: "concise (default) keeps what is needed to answer and to make the next call; detailed adds every field.",
		kind: aChoice, choices: []string{"concise", "detailed"},
	}
)

func refField(name, about string) field {
	return field{name: name, about: about, kind: aText, lo: 1, hi: 200}
}

func limitField(preset int64) field {
	return field{name: "limit", about: "How many to return.", kind: anInteger, lo: 1, hi: 50, preset: preset}
}

func priceField(name, about string, preset int64) field {
	return field{name: name, about: about, kind: anInteger, hi: 100_000_000, preset: preset}
}

// appendObjectSchema appends the schema of an object with the fields and nothing else.
func appendObjectSchema(dst []byte, fields []field) []byte {
	dst = append(dst, `{"type":"object","properties":{`...)
	var required []string
	for i := range fields {
		if i > 0 {
			dst = append(dst, ',')
		}
		f := &fields[i]
		dst = wire.AppendString(dst, f.name)
		dst = append(dst, ':')
		dst = f.appendSchema(dst)
		if f.required {
			required = append(required, f.name)
		}
	}
	dst = append(dst, '}')
	if required != nil {
		dst = append(dst, `,"required":`...)
		dst = appendStrings(dst, required)
	}
	return append(dst, `,"additionalProperties":false}`...)
}

func (f *field) appendSchema(dst []byte) []byte {
	switch f.kind {
	case anInteger:
		dst = append(dst, `{"type":"integer"`...)
	case aList:
		dst = append(dst, `{"type":"array"`...)
	case aText, aChoice:
		dst = append(dst, `{"type":"string"`...)
	}
	if f.about != "" {
		dst = append(dst, `,"description":`...)
		dst = wire.AppendString(dst, f.about)
	}
	bounds := func(low, high string) {
		dst = append(dst, `,"`...)
		dst = append(dst, low...)
		dst = append(dst, `":`...)
		dst = strconv.AppendInt(dst, f.lo, 10)
		dst = append(dst, `,"`...)
		dst = append(dst, high...)
		dst = append(dst, `":`...)
		dst = strconv.AppendInt(dst, f.hi, 10)
	}
	switch f.kind {
	case aText:
		bounds("minLength", "maxLength")
	case anInteger:
		bounds("minimum", "maximum")
		if f.preset != none {
			dst = append(dst, `,"default":`...)
			dst = strconv.AppendInt(dst, f.preset, 10)
		}
	case aChoice:
		dst = append(dst, `,"enum":`...)
		dst = appendStrings(dst, f.choices)
		if f.preset != none {
			dst = append(dst, `,"default":`...)
			dst = wire.AppendString(dst, f.choices[f.preset])
		}
	case aList:
		bounds("minItems", "maxItems")
		dst = append(dst, `,"items":`...)
		dst = appendObjectSchema(dst, f.of)
	}
	return append(dst, '}')
}

func appendStrings(dst []byte, all []string) []byte {
	dst = append(dst, '[')
	for i, s := range all {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = wire.AppendString(dst, s)
	}
	return append(dst, ']')
}
