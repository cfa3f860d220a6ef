package mcp

import (
	"slices"
	"strings"

	"github.com/go-json-experiment/json"

	"ninepocket/wire"
)

// Types of output schemas. A nullable member is an anyOf, which every client supports. Some clients
// do not support a list of types.
const (
	schemaString  = `{"type":"string"}`
	schemaInteger = `{"type":"integer"}`
	schemaBool    = `{"type":"boolean"}`
	schemaUSD     = `{"type":"string","const":"USD"}`
	schemaTime    = `{"type":"string","format":"date-time"}`
	schemaDate    = `{"type":"string","format":"date"}`
)

func nullable(schema string) string { return `{"anyOf":[` + schema + `,{"type":"null"}]}` }

// described adds a description to a schema, for a member whose name does not explain it.
func described(schema, description string) string {
	return `{"description":` + quoted(description) + "," + schema[1:]
}

var (
	nullString  = nullable(schemaString)
	nullInteger = nullable(schemaInteger)
	nullNumber  = nullable(`{"type":"number"}`)
)

// object returns the schema of an object. Each pair is a member's name and its schema. A member
// whose name ends in "?" may be absent.
func object(pairs ...string) string {
	var properties, required []string
	for pair := range slices.Chunk(pairs, 2) {
		name, optional := strings.CutSuffix(pair[0], "?")
		properties = append(properties, quoted(name)+":"+pair[1])
		if !optional {
			required = append(required, name)
		}
	}

	return `{"type":"object","properties":{` + strings.Join(properties, ",") + "}" +
		`,"required":` + quotedList(required) + "}"
}

func array(items string) string { return `{"type":"array","items":` + items + `}` }

func arrayTo(limit int64, items string) string {
	return `{"type":"array","maxItems":` + wire.Decimal(limit) + `,"items":` + items + `}`
}

func oneOf(values ...string) string { return `{"type":"string","enum":` + quotedList(values) + `}` }

func quoted(s string) string { return string(wire.AppendString(nil, s)) }

func quotedList(all []string) string {
	list, _ := json.Marshal(all) // valid strings do not fail
	return string(list)
}

// answerSchema returns the schema of a result with prices: the facts common to all prices, the remarks,
// and the members of pairs.
func answerSchema(pairs ...string) string {
	return object(slices.Concat([]string{
		"currency?", schemaUSD,
		"price_updated_at?", described(schemaTime, "Of every price that has none of its own."),
		"days_old?", described(schemaInteger, "How old the newest of the prices is, where that is over 36 hours."),
		"notes?", schemaRemarks(),
	}, pairs)...)
}

// Members that several results have.
var (
	// identity has the members that wire.AppendIdentity writes. If the set is already named, a card
	// has the members of identityInSet.
	identity = slices.Concat(identityInSet[:len(identityInSet)-2], []string{
		"set", nullable(object("id", schemaString, "name", schemaString)), "url", nullString,
	})
	identityInSet = []string{
		"id", schemaString, "name", schemaString, "number", nullString, "game", nullString, "game_name", nullString,
		"url", nullString,
	}
	// price has the members of a price that has a card around it.
	price = []string{"variant?", schemaString, "market_price_cents", nullInteger, "price_updated_at?", schemaTime}
	// detailMembers are the members that only a detailed card has.
	detailMembers = []string{"rarity?", nullString, "image_url?", nullString}
)
