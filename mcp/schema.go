package mcp

import (
	"strings"

	"ninepocket/wire"
)

// The vocabulary of output schemas. Nullable members are a nested anyOf, which every client reads, and not a list of
// types, which some do not.
const (
	schemaString  = `{"type":"string"}`
	schemaInteger = `{"type":"integer"}`
	schemaBool    = `{"type":"boolean"}`
	schemaUSD     = `{"type":"string","const":"USD"}`
	schemaTime    = `{"type":"string","format":"date-time"}`
	schemaDate    = `{"type":"string","format":"date"}`
)

func nullable(schema string) string { return `{"anyOf":[` + schema + `,{"type":"null"}]}` }

var (
	nullString  = nullable(schemaString)
	nullInteger = nullable(schemaInteger)
	nullNumber  = nullable(`{"type":"number"}`)
)

// object is the schema of an object: pairs of a member's name and schema. A name that ends in "?" may be absent.
func object(pairs ...string) string {
	var properties, required []string
	for i := 0; i < len(pairs); i += 2 {
		name, optional := strings.CutSuffix(pairs[i], "?")
		properties = append(properties, `"`+name+`":`+pairs[i+1])
		if !optional {
			required = append(required, `"`+name+`"`)
		}
	}
	return `{"type":"object","properties":{` + strings.Join(properties, ",") + `},"required":[` + strings.Join(required, ",") + `]}`
}

func array(items string) string { return `{"type":"array","items":` + items + `}` }

func arrayTo(most int, items string) string {
	return `{"type":"array","maxItems":` + wire.Decimal(int64(most)) + `,"items":` + items + `}`
}

func oneOf(values ...string) string {
	return `{"type":"string","enum":["` + strings.Join(values, `","`) + `"]}`
}

// identity are the members that every card has.
var identity = []string{
	"id", schemaString, "name", schemaString, "number", nullString, "game", nullString, "game_name", nullString,
	"set", nullable(object("id", schemaString, "name", schemaString)), "url", nullString,
}

// extras are the members that a detailed card has besides.
var extras = []string{"rarity?", nullString, "image_url?", nullString}

var price = []string{"market_price_cents", nullInteger, "price_updated_at", schemaTime}

func join(lists ...[]string) []string {
	var all []string
	for _, l := range lists {
		all = append(all, l...)
	}
	return all
}
