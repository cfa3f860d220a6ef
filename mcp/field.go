package mcp

import (
	"strings"

	"ninepocket/snapshot"
	"ninepocket/wire"
)

// fieldKind is what an argument holds.
type fieldKind uint8

const (
	textKind    fieldKind = iota // a string of as many characters as its bounds say
	dateKind                     // a string, YYYY-MM-DD
	integerKind                  // a number within its bounds
	choiceKind                   // one of its choices
	listKind                     // an array of as many objects as its bounds say
)

// kinds say for each kind which JSON an argument must be, what a problem calls that, and what JSON
// Schema calls the type and its bounds.
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

// field is an argument of a tool. This one row becomes the argument's JSON Schema, and it checks
// the argument of a call.
type field struct {
	kind        fieldKind
	name, about string
	bounds      wire.Range
	choices     []string
	required    bool
	// defaultValue is the value of an absent argument. An integer has its default here, a choice
	// the index of its default, and a date snapshot.NoDay. An integer or a choice without a default
	// has none.
	defaultValue int64
	of           []field // the members of a list's objects
}

// noDefault is the preset of an argument without a default. An absent price bound is
// snapshot.NoCents in that way, which is what a filter takes for no bound.
const noDefault = -1

func textField(name, about string, bounds wire.Range) field {
	return field{kind: textKind, name: name, about: about, bounds: bounds}
}

func dateField(name, about string) field {
	return field{kind: dateKind, name: name, about: about, defaultValue: int64(snapshot.NoDay)}
}

func integerField(name, about string, bounds wire.Range, preset int64) field {
	return field{kind: integerKind, name: name, about: about, bounds: bounds, defaultValue: preset}
}

func choiceField(name, about string, preset int64, choices ...string) field {
	return field{kind: choiceKind, name: name, about: about, defaultValue: preset, choices: choices}
}

func listField(name, about string, bounds wire.Range, of ...field) field {
	return field{kind: listKind, name: name, about: about, bounds: bounds, of: of}
}

func required(f field) field {
	f.required = true
	return f
}

// Fields that several tools share.

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

func limitField(preset int64) field {
	return integerField("limit", "How many to return.", wire.PageLimit, preset)
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

// inputSchema is the schema of an object with the fields and nothing else.
func inputSchema(fields []field) string {
	var properties, required []string
	for i := range fields {
		properties = append(properties, quoted(fields[i].name)+":"+fields[i].schema())
		if fields[i].required {
			required = append(required, fields[i].name)
		}
	}

	// Unknown arguments are forbidden, so that a model which misspelt one is told so.
	schema := `{"type":"object","properties":{` + strings.Join(properties, ",") + `}`
	if required != nil {
		schema += `,"required":` + quotedList(required)
	}

	return schema + `,"additionalProperties":false}`
}

// schema is the JSON Schema of the argument.
func (f *field) schema() string {
	kind := kinds[f.kind]
	schema := `{"type":"` + kind.schema + `"`
	if f.about != "" {
		schema += `,"description":` + quoted(f.about)
	}

	if kind.min != "" {
		schema += `,"` + kind.min + `":` + wire.Decimal(f.bounds.Min)
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
		schema += `,"items":` + inputSchema(f.of)
	}

	return schema + "}"
}
