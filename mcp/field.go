package mcp

import (
	"strings"

	"ninepocket/snapshot"
	"ninepocket/wire"
)

// fieldKind is the type of an argument.
type fieldKind uint8

const (
	textKind    fieldKind = iota // a string; the bounds count its characters
	dateKind                     // a string, YYYY-MM-DD
	integerKind                  // a number within its bounds
	choiceKind                   // one of its choices
	listKind                     // an array of objects; the bounds count them
)

// kinds has for each kind its JSON type, the type's name in a problem, and the type and bounds in
// JSON Schema.
var kinds = [...]struct {
	json                     byte
	called, schema, min, max string
}{
	textKind:    {'"', "a string", "string", "minLength", "maxLength"},
	dateKind:    {'"', "a string", "string", "", ""},
	integerKind: {'0', "an integer", "integer", "minimum", "maximum"},
	choiceKind:  {'"', "a string", "string", "", ""},
	listKind:    {'[', "an array", "array", "minItems", "maxItems"},
}

// field is the definition of an argument of a tool. It becomes the argument's JSON Schema, and it
// checks the argument of a call.
type field struct {
	kind              fieldKind
	name, description string
	bounds            wire.Range
	choices           []string
	required          bool
	orInteger         bool // the schema says that a text may be an integer, which every text may be
	// defaultValue is the value of an absent argument: for an integer its default, for a choice the
	// index of its default, for a date snapshot.NoDay. It is noDefault for an integer or a choice
	// without a default.
	defaultValue int64
	of           []field // the members of a list's objects
}

// noDefault is the defaultValue of an argument without a default. It equals snapshot.NoCents, so
// that an absent price bound is no bound in a filter.
const noDefault = -1

func textField(name, description string, bounds wire.Range) field {
	return field{kind: textKind, name: name, description: description, bounds: bounds}
}

func dateField(name, description string) field {
	return field{kind: dateKind, name: name, description: description, defaultValue: int64(snapshot.NoDay)}
}

func integerField(name, description string, bounds wire.Range, defaultValue int64) field {
	return field{kind: integerKind, name: name, description: description, bounds: bounds, defaultValue: defaultValue}
}

func choiceField(name, description string, defaultValue int64, choices ...string) field {
	return field{kind: choiceKind, name: name, description: description, defaultValue: defaultValue, choices: choices}
}

func listField(name, description string, bounds wire.Range, of ...field) field {
	return field{kind: listKind, name: name, description: description, bounds: bounds, of: of}
}

func orInteger(f field) field {
	f.orInteger = true
	return f
}

func required(f field) field {
	f.required = true
	return f
}

// Fields of several tools.

func cardField() field {
	return required(textField("id", "Card id or slug, or another catalog's id such as tcgplayer:42382.", wire.RefText))
}

func gameField() field {
	var slugs []string
	for _, game := range snapshot.Games {
		slugs = append(slugs, game.Slug)
	}
	return choiceField("game", "Only this game.", noDefault, slugs...)
}

func limitField(defaultValue int64) field {
	return integerField("limit", "How many to return.", wire.PageLimit, defaultValue)
}

func cursorField() field {
	const about = "next_cursor of the previous page, unchanged. Valid 15 minutes, with the same other arguments."
	return textField("cursor", about, wire.CursorText)
}

// formatField is the last field of every tool; newEndpoint adds it.
func formatField() field {
	const about = "concise (default) keeps what is needed to answer and to make the next call; " +
		"detailed adds every field."
	return choiceField("response_format", about, 0, "concise", "detailed")
}

// inputSchema returns the schema of an object that has the fields and no other member.
func inputSchema(fields []field) string {
	var properties, required []string
	for i := range fields {
		properties = append(properties, quoted(fields[i].name)+":"+fields[i].schema())
		if fields[i].required {
			required = append(required, fields[i].name)
		}
	}

	// Unknown arguments are forbidden, so that the model sees its spelling errors.
	schema := `{"type":"object","properties":{` + strings.Join(properties, ",") + `}`
	if required != nil {
		schema += `,"required":` + quotedList(required)
	}

	return schema + `,"additionalProperties":false}`
}

// schema returns the JSON Schema of the argument.
func (f *field) schema() string {
	kind := kinds[f.kind]
	schema := `{"type":"` + kind.schema + `"`
	if f.orInteger {
		schema = `{"type":["string","integer"]`
	}
	if f.description != "" {
		schema += `,"description":` + quoted(f.description)
	}

	// An empty text and an empty list are absent ones, unless they are required.
	if kind.min != "" && (f.required || f.kind == integerKind) {
		schema += `,"` + kind.min + `":` + wire.Decimal(f.bounds.Min)
	}
	if kind.max != "" {
		schema += `,"` + kind.max + `":` + wire.Decimal(f.bounds.Max)
	}

	// The rest differs by kind.
	switch {
	case f.kind == dateKind:
		schema += `,"format":"date"`
	case f.kind == integerKind && f.defaultValue != noDefault:
		schema += `,"default":` + wire.Decimal(f.defaultValue)
	case f.kind == choiceKind:
		schema += `,"enum":` + quotedList(f.choices)
		if f.defaultValue != noDefault {
			schema += `,"default":` + quoted(f.choices[f.defaultValue])
		}
	case f.kind == listKind:
		asText := textField("", "", wire.ValueLine)
		schema += `,"items":{"anyOf":[` + asText.schema() + "," + inputSchema(f.of) + "]}"
	}

	return schema + "}"
}
